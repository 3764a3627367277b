//! The signatures that are printed: the function's own, and that of what forwards to an entry.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};
use syn::{
    FnArg, GenericParam, Lifetime, Pat, PatIdent, PatType, ReturnType, Signature, Type, parse_quote,
};

use crate::analyze::{Form, Model, Place};
use crate::names;
use crate::parse::EntryName;

/// The signature as written, without the `mut` of arguments that the body takes over by name:
/// there it is the body's variable that changes.
pub(crate) fn of_function(model: &Model) -> Signature {
    let mut sig = model.function.sig.clone();
    for input in &mut sig.inputs {
        if let FnArg::Typed(typed) = input {
            refrain_from_mut(model, &mut typed.pat);
        }
    }
    if model.form == Form::Recursive {
        for (index, name) in taken_apart(&model.function.sig) {
            if let Some(FnArg::Typed(typed)) = sig.inputs.iter_mut().nth(index) {
                *typed.pat = parse_quote!(#name);
            }
        }
        let (contract, output) = (model.contract(), &model.output);
        sig.asyncness = None;
        sig.output = parse_quote! {
            -> impl #contract::Future<Output = #output> + #contract::Send
        };
    }
    sig
}

/// The statements by which the future of a recursive function takes what the signature cannot hand to it by name:
/// what `_` stands for lives as long as in an `async fn`.
pub(crate) fn takes(model: &Model) -> TokenStream {
    let sig = &model.function.sig;
    let takes = taken_apart(sig).filter_map(|(index, name)| {
        let Some(FnArg::Typed(PatType { attrs, pat, .. })) = sig.inputs.iter().nth(index) else {
            return None;
        };
        let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let (cfgs, mut pat) = (cfgs.collect::<Vec<_>>(), pat.clone());
        refrain_from_mut(model, &mut pat);
        Some(quote!(#(#cfgs)* let #name = #name; #(#cfgs)* let #pat = #name;))
    });
    takes.collect()
}

/// The arguments without a single name, and the names that they have instead.
fn taken_apart(sig: &Signature) -> impl Iterator<Item = (usize, Ident)> {
    let is_taken_apart = |input: &FnArg| match input {
        FnArg::Typed(typed) => !matches!(&*typed.pat, Pat::Ident(ident) if ident.subpat.is_none()),
        FnArg::Receiver(_) => false,
    };
    let inputs = sig.inputs.iter().enumerate();
    inputs
        .filter(move |(_, input)| is_taken_apart(input))
        .map(|(index, _)| (index, names::nameless_argument(index)))
}

/// The signature of a function that only passes its arguments on: a plain name for each.
pub(crate) fn of_forwarder(model: &Model) -> Signature {
    let mut sig = model.function.sig.clone();
    for (index, input) in sig.inputs.iter_mut().enumerate() {
        match input {
            FnArg::Typed(typed) => {
                let name = forwarded_name(index, typed);
                *typed.pat = parse_quote!(#name);
            }
            FnArg::Receiver(receiver) => receiver.mutability = None,
        }
    }
    sig
}

/// What a forwarder calls its argument number `index`.
pub(crate) fn forwarded_name(index: usize, argument: &PatType) -> Ident {
    match &*argument.pat {
        Pat::Ident(PatIdent {
            ident,
            subpat: None,
            ..
        }) if !names::is_underscored(ident) => ident.clone(),
        _ => names::nameless_argument(index),
    }
}

/// How `item`, the function or its entry, is named by the other of the two.
pub(crate) fn path(sig: &Signature, entry: &EntryName, item: &Ident) -> TokenStream {
    let of_type = belongs_to_type(sig, entry).then(|| quote!(Self::));
    let generics: Vec<_> = sig.generics.params.iter().filter_map(explicit).collect();
    let generics = (!generics.is_empty()).then(|| quote!(::<#(#generics),*>));
    quote!(#of_type #item #generics)
}

/// Whether the function is a method or an associated function.
pub(crate) fn belongs_to_type(sig: &Signature, entry: &EntryName) -> bool {
    entry.associated || sig.receiver().is_some()
}

fn explicit(param: &GenericParam) -> Option<&Ident> {
    match param {
        GenericParam::Type(param) => Some(&param.ident),
        GenericParam::Const(param) => Some(&param.ident),
        GenericParam::Lifetime(_) => None,
    }
}

/// The future that a boxed function returns, with lifetimes left to the compiler: inside the body
/// they are those of the body's own copies.
pub(crate) fn boxed_future(model: &Model) -> Type {
    let mut future = match &model.function.sig.output {
        ReturnType::Type(_, ty) => (**ty).clone(),
        ReturnType::Default => model.output.clone(),
    };
    InferredLifetimes { bounded: false }.visit_type_mut(&mut future);
    future
}

/// Takes the `mut` from variables that the body takes over by name.
fn refrain_from_mut(model: &Model, pat: &mut Pat) {
    if let Place::Detached { carried, .. } = &model.place {
        let names = carried.iter().map(|it| &it.ident).collect();
        WithoutMut { names: &names }.visit_pat_mut(pat);
    }
}

struct WithoutMut<'a> {
    names: &'a Vec<&'a Ident>,
}

impl VisitMut for WithoutMut<'_> {
    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        if self.names.contains(&&pat.ident) {
            pat.mutability = None;
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }
}

struct InferredLifetimes {
    bounded: bool,
}

impl VisitMut for InferredLifetimes {
    fn visit_type_trait_object_mut(&mut self, object: &mut syn::TypeTraitObject) {
        visit_mut::visit_type_trait_object_mut(self, object);
        let bounded = object
            .bounds
            .iter()
            .any(|it| matches!(it, syn::TypeParamBound::Lifetime(_)));
        if !bounded && !self.bounded {
            object.bounds.push(parse_quote!('_));
        }
        self.bounded = true;
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        *lifetime = Lifetime::new("'_", Span::mixed_site());
    }
}
