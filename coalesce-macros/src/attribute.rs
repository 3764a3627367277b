//! The attribute on tokens that can exist outside of a compiler.

use proc_macro2::TokenStream;

use crate::analyze;
use crate::diagnostics::{Diagnostics, beside};
use crate::expand;
use crate::parse;

/// What stands in the item's place: what it becomes, or every error and the item as it was.
pub(crate) fn applied(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match attribute(arguments, item.clone()) {
        Ok(tokens) => tokens,
        // The item as it was: whatever else the program says about it stays true.
        Err(errors) => beside(&errors, item),
    }
}

/// What the item becomes, or everything that is wrong with it.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut diagnostics = Diagnostics::default();
    let options = parse::Options::read(arguments, &mut diagnostics);
    let function = diagnostics.keep(syn::parse2::<parse::Function>(item));
    let model = function.and_then(|function| analyze::analyze(options, function, &mut diagnostics));
    let model = diagnostics.finish(model)?;
    Ok(expand::expand(&model))
}
