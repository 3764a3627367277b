//! The values that an option can take, as they are written.

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitBool, LitFloat, LitInt, LitStr, Path, Token, bracketed, parenthesized};

use crate::names;

/// A length of time.
pub(crate) enum Duration {
    /// `30`: seconds.
    Seconds(LitInt),
    /// `"1h 30m"`, `"${NAME:30s}"`.
    Text(LitStr),
    /// The path of a constant.
    Constant(Path),
}

impl Duration {
    /// Where the value stands.
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Seconds(seconds) => seconds.span(),
            Self::Text(text) => text.span(),
            Self::Constant(path) => syn::spanned::Spanned::span(path),
        }
    }
}

/// A number of bytes.
pub(crate) enum Size {
    /// `4096`.
    Bytes(LitInt),
    /// `"1MiB"`, `"${NAME:1MiB}"`.
    Text(LitStr),
}

/// On or off.
pub(crate) enum Switch {
    /// `true`.
    Fixed(LitBool),
    /// `"${NAME:true}"`.
    Text(LitStr),
}

/// Reads the `= value` behind the option `name`.
pub(crate) fn assigned<T>(
    name: &Ident,
    input: ParseStream<'_>,
    read: fn(&Ident, ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    if !input.peek(Token![=]) {
        let example = names::example(&name.unraw().to_string());
        return Err(Error::new(
            name.span(),
            format!("`{name}` needs a value: `{example}`"),
        ));
    }
    input.parse::<Token![=]>()?;
    read(name, input)
}

pub(crate) fn expression(_: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    input.parse()
}

pub(crate) fn path(_: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    Path::parse_mod_style(input)
}

/// The path of a codec, or one of our words for those of the library.
pub(crate) fn codec(name: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    let is_path = input.fork().call(Path::parse_mod_style).is_ok();
    if !is_path {
        return Err(expected(
            name,
            input,
            "`json`, `postcard` or the path of a codec",
        ));
    }
    path(name, input)
}

pub(crate) fn text(name: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse().map_err(|_| expected(name, input, "a string"))
}

pub(crate) fn integer(name: &Ident, input: ParseStream<'_>) -> syn::Result<LitInt> {
    input
        .parse()
        .map_err(|_| expected(name, input, "a whole number"))
}

pub(crate) fn texts(name: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<LitStr>> {
    if !input.peek(syn::token::Bracket) {
        return Err(expected(name, input, "a list of strings"));
    }
    let content;
    bracketed!(content in input);
    let list = whole(&content, Punctuated::<LitStr, Token![,]>::parse_terminated);
    let list = list
        .map_err(|error| Error::new(error.span(), format!("`{name}` takes a list of strings")))?;
    Ok(list.into_iter().collect())
}

pub(crate) fn duration(name: &Ident, input: ParseStream<'_>) -> syn::Result<Duration> {
    if input.peek(LitStr) {
        return input.parse().map(Duration::Text);
    }
    // A negative number is a literal too, but not a length of time.
    if input.peek(LitInt) && !input.peek(Token![-]) {
        return input.parse().map(Duration::Seconds);
    }
    let is_expression = input.peek(LitFloat) || input.fork().parse::<Path>().is_err();
    if is_expression {
        return Err(expected(
            name,
            input,
            "seconds, a string or the path of a constant",
        ));
    }
    let path: Path = input.parse()?;
    if input.peek(syn::token::Paren) {
        let message = format!(
            "`{name}` cannot call a function: write `{}`, or name a constant that holds the \
             duration",
            names::example(&name.to_string()),
        );
        return Err(Error::new_spanned(path, message));
    }
    Ok(Duration::Constant(path))
}

pub(crate) fn size(name: &Ident, input: ParseStream<'_>) -> syn::Result<Size> {
    if input.peek(LitInt) {
        return input.parse().map(Size::Bytes);
    }
    let text = input.parse().map(Size::Text);
    text.map_err(|_| expected(name, input, "a number of bytes or a string"))
}

pub(crate) fn switch(name: &Ident, input: ParseStream<'_>) -> syn::Result<Switch> {
    if input.peek(LitBool) {
        return input.parse().map(Switch::Fixed);
    }
    let text = input.parse().map(Switch::Text);
    text.map_err(|_| expected(name, input, "`true`, `false` or a string"))
}

/// Reads the `(ctx, db)` of `skip`.
pub(crate) fn arguments(name: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    if !input.peek(syn::token::Paren) {
        let message = format!("`{name}` lists arguments in parentheses: `skip(ctx, db)`");
        return Err(Error::new(name.span(), message));
    }
    let content;
    parenthesized!(content in input);
    let list = whole(&content, |content| {
        content.parse_terminated(Ident::parse_any, Token![,])
    });
    let list = list.map_err(|error| {
        Error::new(
            error.span(),
            format!("`{name}` lists arguments by name: `skip(ctx, db)`"),
        )
    })?;
    Ok(list.into_iter().collect())
}

/// The function that `entry` is to emit.
pub(crate) struct EntryName {
    /// Whether it was written as `Self::name`, which an associated function needs.
    pub(crate) associated: bool,
    /// Its name.
    pub(crate) ident: Ident,
}

impl Parse for EntryName {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let associated = input.peek(Token![Self]);
        if associated {
            input.parse::<Token![Self]>()?;
            input.parse::<Token![::]>()?;
        }
        Ok(Self {
            associated,
            ident: input.parse()?,
        })
    }
}

pub(crate) fn entry_name(name: &Ident, input: ParseStream<'_>) -> syn::Result<EntryName> {
    input
        .parse()
        .map_err(|_| expected(name, input, "the name of a function"))
}

/// Reads all of `content`. What cannot be read is passed over, so that it is one error, not two.
fn whole<T>(
    content: ParseStream<'_>,
    read: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    let result = read(content);
    if result.is_err() {
        content.parse::<TokenStream>()?;
    }
    result
}

fn expected(name: &Ident, input: ParseStream<'_>, what: &str) -> Error {
    let example = names::example(&name.unraw().to_string());
    Error::new(input.span(), format!("`{name}` takes {what}: `{example}`"))
}
