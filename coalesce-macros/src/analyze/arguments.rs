//! The arguments of a function and the variables their patterns bind.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, FnArg, Pat, PatIdent, PatType, Signature, Token, Type};

use crate::tokens;

/// The arguments of a function, the receiver excepted.
pub(crate) struct Arguments {
    pub(crate) list: Vec<Argument>,
}

/// One argument.
pub(crate) struct Argument {
    /// Its `#[cfg]`s, which everything that is generated for it repeats.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
    pub(crate) bindings: Vec<Binding>,
}

/// A variable that a pattern binds.
pub(crate) struct Binding {
    pub(crate) by_ref: Option<Token![ref]>,
    pub(crate) mutability: Option<Token![mut]>,
    pub(crate) ident: Ident,
}

impl Arguments {
    pub(crate) fn of(sig: &Signature) -> Self {
        let typed = |input: &FnArg| match input {
            FnArg::Typed(typed) => Some(Argument::of(typed)),
            FnArg::Receiver(_) => None,
        };
        Self {
            list: sig.inputs.iter().filter_map(typed).collect(),
        }
    }

    /// Every variable, each with the argument it comes from.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = (&Argument, &Binding)> {
        self.list.iter().flat_map(|argument| {
            argument
                .bindings
                .iter()
                .map(move |binding| (argument, binding))
        })
    }

    /// The variable that somebody calls `name`.
    pub(crate) fn find(&self, name: &Ident) -> Option<&Binding> {
        self.bindings()
            .map(|(_, binding)| binding)
            .find(|binding| binding.ident == *name)
    }
}

impl Argument {
    fn of(typed: &PatType) -> Self {
        let mut bindings = Bindings { found: Vec::new() };
        bindings.visit_pat_mut(&mut (*typed.pat).clone());
        Self {
            cfgs: typed
                .attrs
                .iter()
                .filter(|attr| attr.path().is_ident("cfg"))
                .cloned()
                .collect(),
            pat: (*typed.pat).clone(),
            ty: (*typed.ty).clone(),
            bindings: bindings.found,
        }
    }

    /// Whether the pattern takes the argument apart.
    pub(crate) fn is_taken_apart(&self) -> bool {
        !matches!(&self.pat, Pat::Ident(ident) if ident.subpat.is_none())
    }

    /// Where the type borrows something that may end.
    pub(crate) fn borrow(&self) -> Option<proc_macro2::Span> {
        tokens::borrow(&self.ty.to_token_stream())
    }
}

struct Bindings {
    found: Vec<Binding>,
}

impl VisitMut for Bindings {
    fn visit_pat_ident_mut(&mut self, pat: &mut PatIdent) {
        self.found.push(Binding {
            by_ref: pat.by_ref,
            mutability: pat.mutability,
            ident: pat.ident.clone(),
        });
        visit_mut::visit_pat_ident_mut(self, pat);
    }
}
