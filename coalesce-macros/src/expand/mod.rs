//! The tokens that users get. Nothing is decided here.

mod body;
mod call;
mod entry;
pub(crate) mod own_self;
mod signature;
mod site;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Signature};

use crate::analyze::{Form, Model};

/// Prints the function under its own name, and its entry if it has one.
///
/// ```text
/// #[coalesce(key = id)]
/// async fn get(id: u64) -> u64 { id * 2 }
/// ```
///
/// becomes
///
/// ```text
/// async fn get(id: u64) -> u64 {
///     static __COALESCE_SITE: CallSite = CallSite::new("get", file!(), line!());
///     register!(&__COALESCE_SITE);
///     let __coalesce_call = Call::new(&__COALESCE_SITE, path_of(|| {})).key(&[&id]);
///     __coalesce_call.run(shape!(u64), move || async move { id * 2 }).await
/// }
/// ```
pub(crate) fn expand(model: &Model) -> TokenStream {
    let Some(name) = &model.entry else {
        let sig = signature::of_function(model);
        return function(model, &model.function.attrs, &sig, &run(model));
    };
    let entry = entry::function(model, name);
    let attrs = entry::forwarder_attrs(model);
    let sig = signature::of_forwarder(model);
    let function = function(model, &attrs, &sig, &entry::forward(model, name));
    quote!(#entry #function)
}

fn run(model: &Model) -> TokenStream {
    let site = site::statements(model);
    let call = call::statement(model);
    let run = body::run(model);
    quote! {
        #site
        #call
        #run.await
    }
}

/// The annotated function around other statements.
fn function(
    model: &Model,
    attrs: &[Attribute],
    sig: &Signature,
    statements: &TokenStream,
) -> TokenStream {
    let (vis, inner_attrs) = (&model.function.vis, &model.function.inner_attrs);
    let statements = match model.form {
        Form::Async => statements.clone(),
        // Nothing may happen before the first poll, so all of it moves into the future.
        Form::Boxed => quote!(::std::boxed::Box::pin(async move { #statements })),
    };
    quote! {
        #(#attrs)*
        #vis #sig {
            #(#inner_attrs)*
            #statements
        }
    }
}
