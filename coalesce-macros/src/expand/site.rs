//! The static that describes a call site.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use super::call;
use crate::analyze::{Model, Setting, Value};
use crate::names;

/// The description of the call site and its registration.
///
/// `#[coalesce(fresh_ttl = "30s", version = 2)] async fn get() { … }` gives
///
/// ```text
/// static __COALESCE_SITE: CallSite =
///     CallSite::new("get", place!()).fresh_ttl("30s").version(2);
/// register!(&__COALESCE_SITE);
/// ```
pub(crate) fn statements(model: &Model) -> TokenStream {
    let contract = model.contract_inside();
    let site = names::site();
    let name = model.function.sig.ident.unraw().to_string();
    let settings = model.settings.iter().map(setting);
    let entry = entry(model);
    quote! {
        static #site: #contract::CallSite =
            #contract::CallSite::new(#name, #contract::place!())
                #(#settings)*
                #entry;
        #contract::register!(&#site);
    }
}

/// In an entry's function whose own path names the work, what is to be taken out of that path.
fn entry(model: &Model) -> Option<TokenStream> {
    let name = model
        .entry
        .as_ref()
        .filter(|_| call::has_nameless_types(model))?;
    let name = name.ident.unraw().to_string();
    Some(quote!(.in_entry(#name)))
}

fn setting(setting: &Setting) -> TokenStream {
    let span = Span::mixed_site().located_at(setting.option.span());
    let method = Ident::new(setting.name, span);
    let value = match &setting.value {
        Value::Text(text) => quote!(#text),
        Value::Texts(texts) => quote_spanned!(span=> &[#(#texts),*]),
        Value::Number(number) => {
            let number = proc_macro2::Literal::u32_unsuffixed(*number);
            quote!(#number)
        }
        Value::Constant(path) => quote!(#path),
    };
    quote_spanned!(span=> .#method(#value))
}
