//! The call: its site, its key, and which coalescer it goes to.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprReference, Path, Token};

use super::signature;
use crate::analyze::{Key, Model, Part, Piece};
use crate::names;
use crate::tokens;

/// The statement that takes the key, before the body can change an argument.
///
/// It is a statement of its own so that nothing the key borrows lives across the `await`:
///
/// ```text
/// let __coalesce_call = Call::new(&__COALESCE_SITE, path_of(|| {})).key(&[&tenant, &req.id]);
/// ```
pub(crate) fn statement(model: &Model) -> TokenStream {
    let contract = model.contract_inside();
    let (site, call) = (names::site(), names::call(Span::mixed_site()));
    let path = path(&contract, model);
    let key = key(&contract, &model.key);
    let coalescer = model.coalescer.as_ref().map(|coalescer| {
        let coalescer = reference_to(coalescer);
        quote!(.on(#coalescer))
    });
    let lint = lint(model);
    quote! {
        #lint
        let #call = #contract::Call::new(&#site, #path)
            #key
            #coalescer;
    }
}

/// The path of the annotated function, which names the work.
///
/// In an entry's function it is not the path of the function that this is printed in. There the
/// annotated function is asked for its name, unless it has `impl Trait` arguments: nobody can write
/// down which of its instances is meant. There the entry's own path is taken, and its name exchanged.
fn path(contract: &Path, model: &Model) -> TokenStream {
    let sig = &model.function.sig;
    match &model.entry {
        Some(entry) if !has_nameless_types(model) => {
            let function = signature::path(sig, entry, &sig.ident);
            quote!(#contract::type_name_of_val(&#function))
        }
        _ => quote!(#contract::path_of(|| {})),
    }
}

pub(super) fn has_nameless_types(model: &Model) -> bool {
    let inputs = model.function.sig.inputs.to_token_stream();
    tokens::word(&inputs, "impl").is_some()
}

/// Nobody wrote that `_id` is used: it is part of the key because it is an argument.
fn lint(model: &Model) -> Option<TokenStream> {
    let Key::Parts(parts) = &model.key else {
        return None;
    };
    let mut names = parts.iter().filter_map(|part| match &part.value {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    });
    names.find_map(names::used_underscore)
}

fn key(contract: &Path, key: &Key) -> TokenStream {
    match key {
        Key::Parts(parts) => {
            let parts = parts.iter().map(part);
            quote!(.key(&[#(#parts),*]))
        }
        Key::Template(pieces) => match &pieces[..] {
            // A constant key is a part like any other.
            [Piece::Text(text)] => quote!(.key(&[&#text])),
            pieces => {
                let pieces = pieces.iter().map(|it| piece(contract, it));
                quote!(.template(&[#(#pieces),*]))
            }
        },
    }
}

fn part(part: &Part) -> TokenStream {
    let cfgs = &part.cfgs;
    let value = reference_to(&part.value);
    quote!(#(#cfgs)* #value)
}

fn piece(contract: &Path, piece: &Piece) -> TokenStream {
    match piece {
        Piece::Text(text) => quote!(#contract::Piece::Text(#text)),
        Piece::Hole(value) => {
            let value = reference_to(value);
            quote!(#contract::Piece::Hole(#value))
        }
    }
}

/// `&value`, with the caret on `value` if its type is refused.
fn reference_to(value: &Expr) -> TokenStream {
    let span = Span::mixed_site().located_at(value.span());
    let reference = ExprReference {
        attrs: Vec::new(),
        and_token: Token![&](span),
        mutability: None,
        expr: Box::new(value.clone()),
    };
    quote_spanned!(span=> #reference)
}
