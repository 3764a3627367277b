//! The tokens that users get. Nothing is decided here.

mod body;
mod call;
mod entry;
pub(crate) mod own_self;
mod signature;
mod site;

use proc_macro2::{Delimiter, Group, TokenStream};
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
///     static __COALESCE_SITE: CallSite = CallSite::new("get", place!());
///     register!(&__COALESCE_SITE);
///     let __coalesce_call = Call::new(&__COALESCE_SITE, path_of(|| {})).key(&[&id]);
///     let __coalesce_shape = shape!(u64);
///     __coalesce_call.run(__coalesce_shape, move || async move { id * 2 }).await
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
    let import = model.import();
    let site = site::statements(model);
    let call = call::statement(model);
    let run = body::run(model);
    quote! {
        #import
        #site
        #call
        #run
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
    let contract = model.contract();
    let statements = match model.form {
        Form::Async => statements.clone(),
        Form::Recursive => {
            let takes = signature::takes(model);
            quote!(async move { #takes #statements })
        }
        // Nothing may happen before the first poll, so all of it moves into the future.
        Form::Boxed => quote!(#contract::Box::pin(async move { #statements })),
    };
    let mut block = Group::new(Delimiter::Brace, quote!(#(#inner_attrs)* #statements));
    // With these braces the function is the user's from its first token to its last. With ours it
    // would be generated code as a whole, of which rustc never says that it is unused.
    block.set_span(model.function.body.span());
    // It could be an `async fn`, and in the implementation of a trait it says more than the trait.
    let lint = (model.form == Form::Recursive)
        .then(|| quote!(#[allow(clippy::manual_async_fn, refining_impl_trait)]));
    quote! {
        #(#attrs)*
        #lint
        #vis #sig #block
    }
}
