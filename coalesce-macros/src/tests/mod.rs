//! Tests of the attribute on tokens, without a compiler.

mod accounting;
mod clocks;
mod combinations;
mod goldens;
mod names;
mod options;
mod own_self;
mod ownership;
mod signatures;
mod templates;
mod tokens;

use proc_macro2::TokenStream;

fn tokens(source: &str) -> TokenStream {
    source
        .parse()
        .expect("the source of a test is made of tokens")
}

/// Every message that `#[coalesce(arguments)]` on `item` gives.
fn refusals(arguments: &str, item: &str) -> Vec<String> {
    match crate::attribute::attribute(tokens(arguments), tokens(item)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    }
}

/// The one message that `#[coalesce(arguments)]` on `item` gives, and the text under its caret.
#[track_caller]
fn refusal(arguments: &str, item: &str) -> (String, String) {
    let errors = crate::attribute::attribute(tokens(arguments), tokens(item)).err();
    let errors: Vec<syn::Error> = errors.into_iter().flatten().collect();
    let [error] = &errors[..] else {
        panic!("expected one refusal, not {}: {errors:?}", errors.len());
    };
    (
        error.to_string(),
        error.span().source_text().unwrap_or_default(),
    )
}

#[track_caller]
fn accepted(arguments: &str, item: &str) -> String {
    match crate::attribute::attribute(tokens(arguments), tokens(item)) {
        Ok(tokens) => tokens.to_string(),
        Err(errors) => panic!("refused: {:?}", errors.into_iter().collect::<Vec<_>>()),
    }
}
