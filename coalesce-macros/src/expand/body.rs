//! The body, printed once, on its way into the runtime.

use proc_macro2::{Group, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Token, Type};

use super::{own_self, signature};
use crate::analyze::{Carried, Form, Model, Passage, Place, Receiver};
use crate::names;

/// The future of the call.
///
/// The body becomes an async closure because that is the one place, apart from a function, where
/// its result type can be written: `?`, `return` and coercions mean what they meant.
///
/// ```text
/// __coalesce_call.run(shape!(u64), async move || -> u64 { … })
/// ```
pub(crate) fn run(model: &Model) -> TokenStream {
    let call = names::call();
    let (method, body) = match &model.place {
        Place::Inline => (
            quote!(run_inline),
            closure(model, &[], model.function.body.clone()),
        ),
        Place::Detached { .. } => (quote!(run), detached(model)),
    };
    let shape = shape(model);
    quote!(#call.#method(#shape, #body))
}

/// The result type as a value: the runtime looks at it to see whether it is a `Result`.
pub(crate) fn shape(model: &Model) -> TokenStream {
    let (root, output) = (&model.root, &model.output);
    quote!(#root::__private::shape!(#output))
}

/// The closure that makes a detached body.
///
/// Copies are made in an outer closure, which is called when a flight starts and not before:
///
/// ```text
/// move || {
///     let __coalesce_self = <Self as Clone>::clone(self);
///     let name = ToOwned::to_owned(name);
///     start(async move || -> u64 {
///         let __coalesce_self = &__coalesce_self;
///         let name: &str = Borrow::borrow(&name);
///         { … }
///     })
/// }
/// ```
pub(crate) fn detached(model: &Model) -> TokenStream {
    let Place::Detached { receiver, carried } = &model.place else {
        return TokenStream::new();
    };
    let mut copies: Vec<TokenStream> = carried.iter().filter_map(copy).collect();
    let mut lends: Vec<TokenStream> = carried.iter().map(lend).collect();
    let mut body = model.function.body.clone();
    if let Receiver::Copied { referent, itself } = receiver
        && let Some(rewritten) = own_self::rewrite(&body)
    {
        body = rewritten;
        copies.insert(0, copy_self(referent, itself));
        lends.insert(0, lend_self(itself));
    }
    let closure = closure(model, &lends, body);
    if copies.is_empty() {
        return closure;
    }
    let root = &model.root;
    quote! {
        move || {
            #(#copies)*
            #root::__private::start(#closure)
        }
    }
}

/// The innermost closure, whose body is the user's after some statements of ours.
///
/// A boxed body gives a future. It runs in a closure of its own, so that a `return` in it returns
/// that future:
///
/// ```text
/// async move || -> u64 {
///     (move || -> Pin<Box<dyn Future<Output = u64> + Send + '_>> { … })().await
/// }
/// ```
fn closure(model: &Model, lends: &[TokenStream], body: Group) -> TokenStream {
    let output = &model.output;
    let body = match model.form {
        // Without statements of ours the braces are those that the user wrote.
        Form::Async if lends.is_empty() => body.into_token_stream(),
        Form::Async => {
            let body = without_brace_lint(body);
            quote!({ #(#lends)* #body })
        }
        Form::Boxed => {
            let future = signature::boxed_future(model);
            quote!({ #(#lends)* (move || -> #future #body)().await })
        }
    };
    quote!(async move || -> #output #body)
}

/// A body that becomes the last expression of a block keeps its braces: it may start with imports
/// and constants. `unused_braces` sees that only if the braces are not the user's.
fn without_brace_lint(mut body: Group) -> Group {
    body.set_span(Span::mixed_site().located_at(body.span()));
    body
}

fn copy_self(referent: &Type, itself: &Token![self]) -> TokenStream {
    let owned = names::owned_self(itself.span);
    // The caret of a missing `Clone` goes to the receiver.
    let span = Span::mixed_site().located_at(itself.span);
    let clone = quote_spanned!(span=> <#referent as ::core::clone::Clone>::clone(#itself));
    quote!(let #owned = #clone;)
}

fn lend_self(itself: &Token![self]) -> TokenStream {
    let owned = names::owned_self(itself.span);
    quote!(let #owned = &#owned;)
}

fn copy(carried: &Carried) -> Option<TokenStream> {
    let Carried {
        cfgs,
        ident,
        passage,
        ..
    } = carried;
    // The caret of a missing `ToOwned` goes to the argument's type.
    let to_owned = |ty: &dyn Spanned| {
        let span = Span::mixed_site().located_at(ty.span());
        quote_spanned!(span=> ::std::borrow::ToOwned::to_owned)
    };
    let value = match passage {
        Passage::Moved => return None,
        Passage::Lent(ty) => {
            let to_owned = to_owned(ty);
            quote!(#to_owned(#ident))
        }
        Passage::LentNameless => {
            let to_owned = to_owned(ident);
            quote!(#to_owned(#ident))
        }
        Passage::LentOption(ty) => {
            let to_owned = to_owned(ty);
            quote!(::core::option::Option::map(#ident, #to_owned))
        }
    };
    let lint = names::used_underscore(ident);
    Some(quote!(#(#cfgs)* #lint let #ident = #value;))
}

/// The statement that gives an argument its name and type back.
fn lend(carried: &Carried) -> TokenStream {
    let Carried {
        cfgs,
        mutability,
        ident,
        passage,
    } = carried;
    let binding = match passage {
        Passage::Moved => quote!(#ident = #ident),
        Passage::Lent(ty) => quote!(#ident: &#ty = ::core::borrow::Borrow::borrow(&#ident)),
        Passage::LentNameless => quote!(#ident = &#ident),
        Passage::LentOption(ty) => quote! {
            #ident: ::core::option::Option<&#ty> = ::core::option::Option::map(
                ::core::option::Option::as_ref(&#ident),
                ::core::borrow::Borrow::borrow,
            )
        },
    };
    let lint = names::used_underscore(ident);
    quote!(#(#cfgs)* #lint let #mutability #binding;)
}
