//! The function that `entry` emits beside the annotated one.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, FnArg, Lifetime, Meta, PatType, Receiver, ReceiverKind, Signature, TypeReference,
    parse_quote,
};

use super::{body, call, signature, site};
use crate::analyze::Model;
use crate::parse::EntryName;
use crate::tokens;

/// The function that gives the typed entry. The body is in here and nowhere else.
///
/// ```text
/// #[doc = "The typed entry behind [`get`]."]
/// fn get_entry<'__coalesce>(name: &'__coalesce str) -> Entry<'__coalesce, u64> {
///     static __COALESCE_SITE: CallSite = …;
///     register!(&__COALESCE_SITE);
///     let __coalesce_call = Call::new(&__COALESCE_SITE, type_name_of_val(&get)).key(&[&name]);
///     let __coalesce_shape = shape!(u64);
///     __coalesce_call.entry(__coalesce_shape, move || …)
/// }
/// ```
pub(crate) fn function(model: &Model, name: &EntryName) -> TokenStream {
    let function = &model.function;
    let (vis, inner_attrs) = (&function.vis, &function.inner_attrs);
    let attrs = forwarder_attrs(model).into_iter().filter(|attr| {
        // What decides whether the function exists, or silences a lint in its body, goes with it.
        attr.path().is_ident("cfg") || attr.path().is_ident("allow")
    });
    let docs = docs(model, name);
    let sig = sig(model, name);
    let import = model.import();
    let site = site::statements(model);
    let call = call::statement(model);
    let value = body::hand_over(model, "entry");
    quote! {
        #(#attrs)*
        #[doc = #docs]
        #[must_use = "an entry does nothing until one of its methods is called"]
        #vis #sig {
            #(#inner_attrs)*
            #import
            #site
            #call
            #value
        }
    }
}

/// The annotated function's only statement: `get_entry(name).call().await`.
pub(crate) fn forward(model: &Model, name: &EntryName) -> TokenStream {
    let sig = &model.function.sig;
    let entry = signature::path(sig, name, &name.ident);
    let arguments = sig
        .inputs
        .iter()
        .enumerate()
        .map(|(index, input)| match input {
            FnArg::Receiver(receiver) => receiver.self_token.to_token_stream(),
            FnArg::Typed(typed) => {
                let cfgs = typed
                    .attrs
                    .iter()
                    .filter(|attr| attr.path().is_ident("cfg"));
                let name = signature::forwarded_name(index, typed);
                quote!(#(#cfgs)* #name)
            }
        });
    quote!(#entry(#(#arguments),*).call().await)
}

/// The attributes of the annotated function, now that its body has moved.
///
/// A lint that is expected may be met in the signature here or in the body there. As nobody can
/// tell which, it is allowed in both.
pub(crate) fn forwarder_attrs(model: &Model) -> Vec<Attribute> {
    let mut attrs = model.function.attrs.clone();
    for attr in &mut attrs {
        if let Meta::List(list) = &mut attr.meta
            && list.path.is_ident("expect")
        {
            list.path = parse_quote!(allow);
        }
    }
    attrs
}

fn docs(model: &Model, name: &EntryName) -> String {
    let sig = &model.function.sig;
    let owner = if signature::belongs_to_type(sig, name) {
        "Self::"
    } else {
        ""
    };
    format!(" The typed entry behind [`{owner}{}`].", sig.ident)
}

fn sig(model: &Model, name: &EntryName) -> Signature {
    let contract = model.contract();
    let output = &model.output;
    let mut sig = signature::of_function(model);
    sig.asyncness = None;
    sig.ident = name.ident.clone();
    let lifetime = borrow_for_entry(&mut sig);
    sig.output = parse_quote!(-> #contract::Entry<#lifetime, #output>);
    sig
}

/// Gives everything that the arguments borrow one lifetime, that of the entry.
fn borrow_for_entry(sig: &mut Signature) -> Lifetime {
    let borrows = |input: &FnArg| match input {
        FnArg::Receiver(Receiver {
            kind: ReceiverKind::Reference(..),
            ..
        }) => true,
        FnArg::Receiver(receiver) => tokens::borrow(&receiver.to_token_stream()).is_some(),
        FnArg::Typed(PatType { ty, .. }) => tokens::borrow(&ty.to_token_stream()).is_some(),
    };
    if !sig.inputs.iter().any(borrows) {
        return Lifetime::new("'static", Span::mixed_site());
    }
    let lifetime = Lifetime::new("'__coalesce", Span::mixed_site());
    for input in &mut sig.inputs {
        Named {
            lifetime: &lifetime,
        }
        .visit_fn_arg_mut(input);
    }
    let longer: Vec<Lifetime> = sig
        .generics
        .lifetimes()
        .map(|it| it.lifetime.clone())
        .collect();
    for each in longer {
        sig.generics
            .make_where_clause()
            .predicates
            .push(parse_quote!(#each: #lifetime));
    }
    sig.generics.params.insert(0, parse_quote!(#lifetime));
    lifetime
}

struct Named<'a> {
    lifetime: &'a Lifetime,
}

impl VisitMut for Named<'_> {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        if let ReceiverKind::Reference(_, lifetime @ None, _) = &mut receiver.kind {
            *lifetime = Some(self.lifetime.clone());
        }
        visit_mut::visit_receiver_mut(self, receiver);
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        reference
            .lifetime
            .get_or_insert_with(|| self.lifetime.clone());
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_type_fn_ptr_mut(&mut self, _: &mut syn::TypeFnPtr) {
        // What a function pointer borrows is its own caller's.
    }

    fn visit_parenthesized_generic_arguments_mut(
        &mut self,
        _: &mut syn::ParenthesizedGenericArguments,
    ) {
        // Nor what `Fn(&str)` borrows.
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.lifetime.clone();
        }
    }
}
