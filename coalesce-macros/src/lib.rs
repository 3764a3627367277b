//! The `#[coalesce]` attribute.

mod analyze;
mod diagnostics;
mod expand;
mod names;
mod parse;
#[cfg(test)]
mod tests;
mod tokens;

use diagnostics::Diagnostics;
use proc_macro2::TokenStream;

/// Makes many callers share one execution of an async function.
#[proc_macro_attribute]
pub fn coalesce(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let item = TokenStream::from(item);
    match attribute(arguments.into(), item.clone()) {
        Ok(tokens) => tokens.into(),
        Err(errors) => beside(&errors, item).into(),
    }
}

/// The attribute on tokens that can exist outside of a compiler, for tests.
fn attribute(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut diagnostics = Diagnostics::default();
    let options = parse::Options::read(arguments, &mut diagnostics);
    let function = diagnostics.keep(syn::parse2::<parse::Function>(item));
    let model = function.and_then(|function| analyze::analyze(options, function, &mut diagnostics));
    let model = diagnostics.finish(model)?;
    Ok(expand::expand(&model))
}

/// Errors, and the item as it was: whatever else the program says about it stays true.
fn beside(errors: &syn::Error, item: TokenStream) -> TokenStream {
    let mut tokens = errors.to_compile_error();
    tokens.extend(item);
    tokens
}
