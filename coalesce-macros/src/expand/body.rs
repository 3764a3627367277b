//! The body, printed once, on its way into the runtime.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Path, Type};

use super::{own_self, signature};
use crate::analyze::{Carried, Codec, CopiedReceiver, Form, Model, Passage, Place};
use crate::names;
use crate::tokens;

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
    let (contract, output) = (model.contract_inside(), &model.output);
    // A result that cannot be shared is refused wherever it is mentioned here. With one span for
    // all of it there is one error, and its caret is where the type is written.
    let span = Span::mixed_site().located_at(output.span());
    let method = Ident::new(how, span);
    let (call, shape) = (names::call(span), names::shape(span));
    let body = maker(model);
    let value = quote_spanned!(span=> #call.#method(#shape, #body));
    let codec = model.codec.as_ref().map(|codec| match codec {
        Codec::Own(name) => quote!(, #contract::coding::<#contract::codec::#name, _>()),
        Codec::Foreign(path) => {
            let span = Span::mixed_site().located_at(path.span());
            let contract = tokens::at(span, &contract);
            quote_spanned!(span=> , #contract::coding::<#path, _>())
        }
    });
    quote! {
        let #shape = #contract::shape!(#output #codec);
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
///     let __coalesce_self = copied::<Self, _>(self);
///     let name = copied::<str, _>(name);
///     async move {
///         let __coalesce_self = lent(&__coalesce_self);
///         let name = lent(&name);
///         …
///     }
/// }
/// ```
fn maker(model: &Model) -> TokenStream {
    let contract = model.contract_inside();
    let mut body = model.function.body.clone();
    let mut copies = Vec::new();
    let mut lends = Vec::new();
    if let Place::Detached { receiver, carried } = &model.place {
        if let Some(receiver) = receiver
            && let Some(rewritten) = own_self::rewrite(&body)
        {
            body = rewritten;
            copies.push(copy_self(&contract, receiver));
            lends.push(lend_self(&contract, receiver));
        }
        copies.extend(carried.iter().filter_map(|it| copy(&contract, it)));
        lends.extend(carried.iter().map(|it| lend(&contract, it)));
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
///     if false {
///         return output::<u64>();
///     }
///     { … }
/// }
/// ```
fn future(model: &Model, lends: &[TokenStream], body: Group) -> TokenStream {
    let output = &model.output;
    let contract = model.contract_inside();
    // Whoever returns something else is shown the type that was written.
    let span = Span::mixed_site().located_at(output.span());
    let contract = tokens::at(span, &contract);
    let expected = quote_spanned!(span=> #contract::output::<#output>());
    let body = match model.form {
        Form::Async | Form::Recursive => without_brace_lint(body).into_token_stream(),
        Form::Boxed => boxed(model, &body),
    };
    quote! {
        async move {
            if false {
                return #expected;
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

fn copy_self(contract: &Path, receiver: &CopiedReceiver) -> TokenStream {
    let CopiedReceiver { referent, itself } = receiver;
    let owned = names::owned_self(itself.span);
    // The caret of a missing `Clone` goes to the receiver.
    let span = Span::mixed_site().located_at(itself.span);
    let contract = tokens::at(span, contract);
    let copied = quote_spanned!(span=> #contract::copied::<#referent, _>(#itself));
    quote!(let #owned = #copied;)
}

fn lend_self(contract: &Path, receiver: &CopiedReceiver) -> TokenStream {
    let owned = names::owned_self(receiver.itself.span);
    quote!(let #owned = #contract::lent(&#owned);)
}

fn copy(contract: &Path, carried: &Carried) -> Option<TokenStream> {
    let Carried {
        cfgs,
        ident,
        passage,
        ..
    } = carried;
    let value = match passage {
        Passage::Moved => return None,
        Passage::Lent(ty) => copied(contract, "copied", ident, ty),
        Passage::LentNameless => quote!(#contract::copied(#ident)),
        Passage::LentOption(ty) => copied(contract, "copied_option", ident, ty),
    };
    let lint = names::used_underscore(ident);
    Some(quote!(#(#cfgs)* #lint let #ident = #value;))
}

/// The copy of an argument, with the caret on its type if there can be none.
fn copied(contract: &Path, how: &str, ident: &Ident, ty: &Type) -> TokenStream {
    let span = Span::mixed_site().located_at(ty.span());
    let (contract, how) = (tokens::at(span, contract), Ident::new(how, span));
    let argument = tokens::at(span, ident);
    quote_spanned!(span=> #contract::#how::<#ty, _>(#argument))
}

/// The statement that gives an argument its name and type back.
fn lend(contract: &Path, carried: &Carried) -> TokenStream {
    let Carried {
        cfgs,
        mutability,
        ident,
        passage,
    } = carried;
    let binding = match passage {
        Passage::Moved => quote!(#ident = #ident),
        Passage::Lent(_) | Passage::LentNameless => quote!(#ident = #contract::lent(&#ident)),
        Passage::LentOption(_) => quote!(#ident = #contract::lent_option(&#ident)),
    };
    let lint = names::used_underscore(ident);
    quote!(#(#cfgs)* #lint let #mutability #binding;)
}
