//! Collecting refusals, so that one compile shows everything that is wrong with an attribute.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

/// Everything that has been refused so far.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Option<Error>,
}

impl Diagnostics {
    /// Refuses the tokens of `what`.
    pub(crate) fn refuse(&mut self, what: &impl ToTokens, message: impl Display) {
        self.absorb(Error::new_spanned(what, message));
    }

    /// Refuses what stands at `span`.
    pub(crate) fn refuse_at(&mut self, span: Span, message: impl Display) {
        self.absorb(Error::new(span, message));
    }

    /// Adds an error that a parser returned.
    pub(crate) fn absorb(&mut self, error: Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// The value of `result`, or nothing and a refusal more.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.absorb(error)).ok()
    }

    /// `value`, if nothing was refused.
    pub(crate) fn finish<T>(self, value: Option<T>) -> syn::Result<T> {
        match (self.errors, value) {
            (Some(errors), _) => Err(errors),
            (None, Some(value)) => Ok(value),
            // A step that gives nothing has always said why; this arm keeps a slip from being a
            // panic inside the compiler.
            (None, None) => Err(Error::new(
                Span::call_site(),
                "`#[coalesce]` gave up silently",
            )),
        }
    }
}

/// Errors, and what else there is to say.
pub(crate) fn beside(errors: &Error, rest: TokenStream) -> TokenStream {
    let mut tokens = errors.to_compile_error();
    tokens.extend(rest);
    tokens
}
