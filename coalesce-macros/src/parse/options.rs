//! The list in the parentheses of the attribute: names, values, and each of them once.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, LitInt, LitStr, Path, Token};

use super::values::{self, Duration, EntryName, Size, Switch};
use crate::diagnostics::Diagnostics;
use crate::names;

/// An option that was written.
pub(crate) struct Written<T> {
    /// Its name, where the caret goes when the option itself is wrong.
    pub(crate) name: Ident,
    /// How many options stand before it.
    pub(crate) position: usize,
    /// What it is set to.
    pub(crate) value: T,
}

/// Every option, as written.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) key: Option<Written<Expr>>,
    pub(crate) skip: Option<Written<Vec<Ident>>>,
    pub(crate) header_keys: Option<Written<Vec<LitStr>>>,
    pub(crate) missing_header: Option<Written<LitStr>>,
    pub(crate) namespace: Option<Written<LitStr>>,
    pub(crate) version: Option<Written<LitInt>>,
    pub(crate) fresh_ttl: Option<Written<Duration>>,
    pub(crate) stale_ttl: Option<Written<Duration>>,
    pub(crate) pending_ttl: Option<Written<Duration>>,
    pub(crate) wait_timeout: Option<Written<Duration>>,
    pub(crate) errors: Option<Written<LitStr>>,
    pub(crate) keep_errors: Option<Written<Duration>>,
    pub(crate) on_redis_error: Option<Written<LitStr>>,
    pub(crate) max_payload: Option<Written<Size>>,
    pub(crate) codec: Option<Written<Path>>,
    pub(crate) enabled: Option<Written<Switch>>,
    pub(crate) self_bypass: Option<Written<Switch>>,
    pub(crate) inline: Option<Written<()>>,
    pub(crate) entry: Option<Written<EntryName>>,
    pub(crate) coalescer: Option<Written<Expr>>,
    pub(crate) root: Option<Written<Path>>,
}

impl Options {
    /// Reads what stands in the parentheses. A bad option is reported and the next one is read.
    pub(crate) fn read(tokens: TokenStream, diagnostics: &mut Diagnostics) -> Self {
        let mut options = Self::default();
        let read = |input: ParseStream<'_>| -> syn::Result<()> {
            let mut position = 0;
            while !input.is_empty() {
                let read = options
                    .read_one(position, input)
                    .and_then(|()| end_of_option(input));
                if let Err(error) = read {
                    diagnostics.absorb(error);
                    skip_past_comma(input)?;
                }
                position += 1;
            }
            Ok(())
        };
        let read = read.parse2(tokens);
        if let Err(error) = read {
            diagnostics.absorb(error);
        }
        options
    }

    fn read_one(&mut self, position: usize, input: ParseStream<'_>) -> syn::Result<()> {
        use values::assigned;
        let name = input.call(Ident::parse_any)?;
        let word = name.unraw().to_string();
        // Each arm reads first and complains afterwards, so that an option given twice does not
        // hide what follows it.
        macro_rules! put {
            ($slot:ident, $value:expr) => {{
                let value = $value?;
                once(
                    &mut self.$slot,
                    Written {
                        name,
                        position,
                        value,
                    },
                )
            }};
        }
        match word.as_str() {
            "key" => put!(key, assigned(&name, input, values::expression)),
            "skip" => put!(skip, values::arguments(&name, input)),
            "header_keys" => put!(header_keys, assigned(&name, input, values::texts)),
            "missing_header" => put!(missing_header, assigned(&name, input, values::text)),
            "namespace" => put!(namespace, assigned(&name, input, values::text)),
            "version" => put!(version, assigned(&name, input, values::integer)),
            "fresh_ttl" => put!(fresh_ttl, assigned(&name, input, values::duration)),
            "stale_ttl" => put!(stale_ttl, assigned(&name, input, values::duration)),
            "pending_ttl" => put!(pending_ttl, assigned(&name, input, values::duration)),
            "wait_timeout" => put!(wait_timeout, assigned(&name, input, values::duration)),
            "errors" => put!(errors, assigned(&name, input, values::text)),
            "keep_errors" => put!(keep_errors, assigned(&name, input, values::duration)),
            "on_redis_error" => put!(on_redis_error, assigned(&name, input, values::text)),
            "max_payload" => put!(max_payload, assigned(&name, input, values::size)),
            "codec" => put!(codec, assigned(&name, input, values::codec)),
            "enabled" => put!(enabled, assigned(&name, input, values::switch)),
            "self_bypass" => put!(self_bypass, assigned(&name, input, values::switch)),
            "inline" => put!(inline, flag(&name, input)),
            "entry" => put!(entry, assigned(&name, input, values::entry_name)),
            "coalescer" => put!(coalescer, assigned(&name, input, values::expression)),
            "crate" => put!(root, assigned(&name, input, values::path)),
            _ => Err(unknown(&name, &word)),
        }
    }
}

fn once<T>(slot: &mut Option<Written<T>>, written: Written<T>) -> syn::Result<()> {
    if slot.is_some() {
        let name = &written.name;
        return Err(Error::new(name.span(), format!("`{name}` is given twice")));
    }
    *slot = Some(written);
    Ok(())
}

fn flag(name: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![=]) || input.peek(syn::token::Paren) {
        return Err(input.error(format!("`{name}` takes no value: write the word alone")));
    }
    Ok(())
}

fn unknown(name: &Ident, word: &str) -> Error {
    let advice = names::meant_option(word).map_or_else(
        || {
            let all: Vec<&str> = names::OPTIONS.iter().map(|(option, _)| *option).collect();
            format!("the options are {}", all.join(", "))
        },
        |meant| format!("did you mean `{meant}`?"),
    );
    Error::new(
        name.span(),
        format!("`#[coalesce]` has no option `{word}`: {advice}"),
    )
}

fn end_of_option(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() {
        return Ok(());
    }
    if !input.peek(Token![,]) {
        return Err(input.error("expected `,` before the next option"));
    }
    input.parse::<Token![,]>().map(drop)
}

fn skip_past_comma(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    input.parse::<Option<Token![,]>>().map(drop)
}
