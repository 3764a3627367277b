//! The annotated function: its signature understood, its body left as tokens.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Signature, Token, Visibility};

/// A function with a body.
///
/// The body is not parsed: it need not be complete for an editor to see the signature, nothing in
/// it is printed differently from how it was written, and parsing it would be most of the
/// attribute's compile time.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// The `#![…]` at the start of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The body in its braces, without the inner attributes.
    pub(crate) body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        refuse_other_items(input)?;
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(declaration(&sig));
        }
        let (inner_attrs, body) = parse_body(input)?;
        Ok(Self {
            attrs,
            vis,
            sig,
            inner_attrs,
            body,
        })
    }
}

fn parse_body(input: ParseStream<'_>) -> syn::Result<(Vec<Attribute>, Group)> {
    let content;
    let braces = syn::braced!(content in input);
    let inner_attrs = content.call(Attribute::parse_inner)?;
    let mut body = Group::new(Delimiter::Brace, content.parse::<TokenStream>()?);
    body.set_span(braces.span.join());
    Ok((inner_attrs, body))
}

fn refuse_other_items(input: ParseStream<'_>) -> syn::Result<()> {
    const ITEMS: [&str; 10] = [
        "struct",
        "enum",
        "union",
        "trait",
        "impl",
        "mod",
        "type",
        "static",
        "use",
        "macro_rules",
    ];
    let Ok(TokenTree::Ident(first)) = input.fork().parse() else {
        return Ok(());
    };
    let word = first.to_string();
    let is_constant = input.peek(Token![const])
        && !(input.peek2(Token![async])
            || input.peek2(Token![unsafe])
            || input.peek2(Token![extern])
            || input.peek2(Token![fn]));
    if !is_constant && !ITEMS.contains(&word.as_str()) {
        return Ok(());
    }
    let advice = match word.as_str() {
        "impl" | "trait" => "; put it on the methods inside",
        _ => "",
    };
    let message = format!("`#[coalesce]` goes on an async function, not on `{word}`{advice}");
    Err(Error::new(first.span(), message))
}

fn declaration(sig: &Signature) -> Error {
    let name = &sig.ident;
    let message = format!(
        "`{name}` has no body to share: put `#[coalesce]` on the implementation, or give this \
         declaration a default body",
    );
    Error::new(name.span(), message)
}
