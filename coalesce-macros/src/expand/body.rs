//! The body, printed once, on its way into the runtime.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

use super::{own_self, signature};
use crate::analyze::{Carried, CopiedReceiver, Form, Model, Passage, Place};
use crate::names;

/// The statements that hand the body over to the runtime, by the method that `how` names.
///
/// The result type is also given as a value: the runtime looks at it to see whether it is a
/// `Result`.
///
/// ```text
/// let __coalesce_shape = shape!(u64);
/// __coalesce_call.run(__coalesce_shape, move || async move { … })
/// ```
pub(crate) fn hand_over(model: &Model, how: &str) -> TokenStream {
    let (root, output) = (&model.root, &model.output);
    // A result that cannot be shared is refused wherever it is mentioned here. With one span for
    // all of it there is one error, and its caret is where the type is written.
    let span = Span::mixed_site().located_at(output.span());
    let method = Ident::new(how, span);
    let (call, shape) = (names::call(span), names::shape(span));
    let body = maker(model);
    let value = quote_spanned!(span=> #call.#method(#shape, #body));
    let codec = model.codec.as_ref().map(|codec| quote!(, #codec));
    quote! {
        let #shape = #root::__private::shape!(#output #codec);
        #value
    }
}

/// [`hand_over`] for a function that waits for the outcome.
pub(crate) fn run(model: &Model) -> TokenStream {
    let how = match &model.place {
        Place::Inline => "run_inline",
        Place::Detached { .. } => "run",
    };
    let value = hand_over(model, how);
    let awaited = quote_spanned!(Span::mixed_site().located_at(model.output.span())=> .await);
    quote!(#value #awaited)
}

/// The closure that makes the body's future.
///
/// It is called when a flight starts, and that is when a detached body's copies are made:
///
/// ```text
/// move || {
///     let __coalesce_self = <Self as Clone>::clone(self);
///     let name = ToOwned::to_owned(name);
///     async move {
///         let __coalesce_self = &__coalesce_self;
///         let name: &str = Borrow::borrow(&name);
///         …
///     }
/// }
/// ```
fn maker(model: &Model) -> TokenStream {
    let mut body = model.function.body.clone();
    let mut copies = Vec::new();
    let mut lends = Vec::new();
    if let Place::Detached { receiver, carried } = &model.place {
        if let Some(receiver) = receiver
            && let Some(rewritten) = own_self::rewrite(&body)
        {
            body = rewritten;
            copies.push(copy_self(receiver));
            lends.push(lend_self(receiver));
        }
        copies.extend(carried.iter().filter_map(copy));
        lends.extend(carried.iter().map(lend));
    }
    let future = future(model, &lends, body);
    if copies.is_empty() {
        quote!(move || #future)
    } else {
        quote!(move || { #(#copies)* #future })
    }
}

/// The future itself: what is lent, the type of the result, and the body.
///
/// The type of an `async` block cannot be written down. A `return` that never happens says what
/// it is before the body does, so that `?`, `return` and coercions mean what they meant:
///
/// ```text
/// async move {
///     if let Some(__coalesce_output) = None::<u64> {
///         return __coalesce_output;
///     }
///     { … }
/// }
/// ```
fn future(model: &Model, lends: &[TokenStream], body: Group) -> TokenStream {
    let output = &model.output;
    // Whoever returns something else is shown the type that was written.
    let name = names::output(output.span());
    let body = match model.form {
        Form::Async | Form::Recursive => without_brace_lint(body).into_token_stream(),
        Form::Boxed => boxed(model, &body),
    };
    quote! {
        async move {
            if let ::core::option::Option::Some(#name) = ::core::option::Option::None::<#output> {
                return #name;
            }
            #(#lends)*
            #body
        }
    }
}

/// A boxed body gives a future. It runs in a closure of its own, so that a `return` in it returns
/// that future:
///
/// ```text
/// (move || -> Pin<Box<dyn Future<Output = u64> + Send + '_>> { … })().await
/// ```
fn boxed(model: &Model, body: &Group) -> TokenStream {
    let future = signature::boxed_future(model);
    quote!((move || -> #future #body)().await)
}

/// A body that becomes the last expression of a block keeps its braces: it may start with imports
/// and constants. `unused_braces` sees that only if the braces are not the user's.
fn without_brace_lint(mut body: Group) -> Group {
    body.set_span(Span::mixed_site().located_at(body.span()));
    body
}

fn copy_self(receiver: &CopiedReceiver) -> TokenStream {
    let CopiedReceiver { referent, itself } = receiver;
    let owned = names::owned_self(itself.span);
    // The caret of a missing `Clone` goes to the receiver.
    let span = Span::mixed_site().located_at(itself.span);
    let clone = quote_spanned!(span=> <#referent as ::core::clone::Clone>::clone(#itself));
    quote!(let #owned = #clone;)
}

fn lend_self(receiver: &CopiedReceiver) -> TokenStream {
    let owned = names::owned_self(receiver.itself.span);
    quote!(let #owned = &#owned;)
}

fn copy(carried: &Carried) -> Option<TokenStream> {
    let Carried {
        cfgs,
        ident,
        passage,
        ..
    } = carried;
    let value = match passage {
        Passage::Moved => return None,
        Passage::Lent(ty) => {
            let to_owned = to_owned(ty);
            quote!(#to_owned(#ident))
        }
        Passage::LentNameless => quote!(::std::borrow::ToOwned::to_owned(#ident)),
        Passage::LentOption(ty) => {
            let to_owned = to_owned(ty);
            quote!(::core::option::Option::map(#ident, #to_owned))
        }
    };
    let lint = names::used_underscore(ident);
    Some(quote!(#(#cfgs)* #lint let #ident = #value;))
}

/// `ToOwned::to_owned`, with the caret on the argument's type if that has no such thing.
fn to_owned(ty: &Type) -> TokenStream {
    let span = Span::mixed_site().located_at(ty.span());
    quote_spanned!(span=> <#ty as ::std::borrow::ToOwned>::to_owned)
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
