//! What names the work, and that every argument is accounted for in it.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Expr, ExprLit, Lit, Token, parse_quote};

use super::arguments::{Arguments, Binding};
use super::{Key, Part, Piece, template};
use crate::diagnostics::Diagnostics;
use crate::names::did_you_mean;
use crate::parse::Written;
use crate::tokens;

/// The two options that say what names the work.
pub(crate) struct KeyOptions<'a> {
    pub(crate) key: Option<Written<Expr>>,
    pub(crate) skipped: &'a [Ident],
}

/// The key, with every argument found in it, in `skip`, or refused.
pub(crate) fn understand(
    options: KeyOptions<'_>,
    arguments: &Arguments,
    diagnostics: &mut Diagnostics,
) -> Key {
    refuse_strangers(options.skipped, arguments, diagnostics);
    let Some(key) = options.key else {
        return Key::Parts(all_arguments(arguments, options.skipped));
    };
    let key = match key.value {
        Expr::Tuple(tuple) => Key::Parts(tuple.elems.into_iter().map(part).collect()),
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => {
            let pieces = diagnostics.keep(template::split(&text));
            // A template that could not be read accounts for nothing; one error is enough.
            let Some(pieces) = pieces else {
                return Key::Parts(Vec::new());
            };
            Key::Template(pieces)
        }
        value => Key::Parts(vec![part(value)]),
    };
    account(&key, options.skipped, arguments, diagnostics);
    key
}

fn part(value: Expr) -> Part {
    Part {
        cfgs: Vec::new(),
        value,
    }
}

/// Without `key`, every argument names the work.
fn all_arguments(arguments: &Arguments, skipped: &[Ident]) -> Vec<Part> {
    arguments
        .bindings()
        .filter(|(_, binding)| is_accountable(binding) && !skipped.contains(&binding.ident))
        .map(|(argument, binding)| {
            let ident = &binding.ident;
            Part {
                cfgs: argument.cfgs.clone(),
                value: parse_quote!(#ident),
            }
        })
        .collect()
}

fn account(key: &Key, skipped: &[Ident], arguments: &Arguments, diagnostics: &mut Diagnostics) {
    let key = variables(key);
    for (_, binding) in arguments
        .bindings()
        .filter(|(_, binding)| is_accountable(binding))
    {
        let name = &binding.ident;
        let skip = skipped.iter().find(|skip| *skip == name);
        match (tokens::uses(&key, name), skip) {
            (false, None) => refuse_unaccounted(name, diagnostics),
            (true, Some(skip)) => {
                let message = format!("`{name}` is used in `key`, so it cannot be in `skip`");
                diagnostics.refuse(skip, message);
            }
            (true, None) | (false, Some(_)) => {}
        }
    }
}

fn refuse_unaccounted(name: &Ident, diagnostics: &mut Diagnostics) {
    let message = format!(
        "`{name}` is neither in `key` nor skipped: two calls that differ only in `{name}` would \
         share one result; use it in `key`, or list it in `skip({name})`",
    );
    diagnostics.refuse(name, message);
}

/// The arguments that `#[async_trait]` named because their author wrote `_` cannot be reached
/// from the body.
fn is_accountable(binding: &Binding) -> bool {
    !binding.ident.to_string().starts_with("__arg")
}

/// The expressions of a key, one after the other.
fn variables(key: &Key) -> TokenStream {
    let values: Vec<&Expr> = match key {
        Key::Parts(parts) => parts.iter().map(|part| &part.value).collect(),
        Key::Template(pieces) => pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Hole(value) => Some(&**value),
                Piece::Text(_) => None,
            })
            .collect(),
    };
    quote!(#(#values),*)
}

fn refuse_strangers(skipped: &[Ident], arguments: &Arguments, diagnostics: &mut Diagnostics) {
    for (index, skip) in skipped.iter().enumerate() {
        if skipped[..index].contains(skip) {
            diagnostics.refuse(skip, format!("`{skip}` is skipped twice"));
        } else if *skip == Ident::from(<Token![self]>::default()) {
            let message = "`self` is never part of the key unless `key` says so: remove it";
            diagnostics.refuse(skip, message);
        } else if arguments.find(skip).is_none() {
            diagnostics.refuse(skip, stranger(skip, arguments));
        }
    }
}

fn stranger(skip: &Ident, arguments: &Arguments) -> String {
    let names: Vec<String> = arguments
        .bindings()
        .map(|(_, it)| it.ident.to_string())
        .collect();
    let close = did_you_mean(&skip.to_string(), names.iter().map(String::as_str));
    let advice = close.map_or_else(String::new, |name| format!(": did you mean `{name}`?"));
    format!("the function has no argument `{skip}`{advice}")
}
