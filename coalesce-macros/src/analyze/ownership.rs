//! How a body that runs in a task of its own comes to own its arguments.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{FnArg, ReceiverKind, Type, TypeReference, parse_quote_spanned};

use super::arguments::{Argument, Arguments, Binding};
use super::signature::{optional, peel};
use super::{Carried, CopiedReceiver, Passage, Place};
use crate::diagnostics::Diagnostics;
use crate::parse::Function;
use crate::tokens;

/// Plans the way of every argument into a detached body, and refuses what cannot be owned.
pub(crate) fn plan(
    function: &Function,
    arguments: &Arguments,
    skipped: &[Ident],
    diagnostics: &mut Diagnostics,
) -> Place {
    let mut carried = Vec::new();
    for argument in &arguments.list {
        match passage(argument) {
            Ok(Passage::Moved) => {
                refuse_ref_bindings(argument, diagnostics);
                // Arguments that are part of the key are plain data: the body captures those it
                // mentions. The others may be guards, which must live as long as the body.
                let moved = argument
                    .bindings
                    .iter()
                    .filter(|it| skipped.contains(&it.ident));
                carried.extend(moved.map(|binding| carry(argument, binding, Passage::Moved)));
            }
            Ok(lent) => {
                let mentioned = |it: &&Binding| tokens::mention(&function.body.stream(), &it.ident);
                let binding = argument.bindings.first().filter(mentioned);
                carried.extend(binding.map(|binding| carry(argument, binding, lent)));
            }
            Err(why) => refuse(argument, why, diagnostics),
        }
    }
    Place::Detached {
        receiver: receiver(function, diagnostics),
        carried,
    }
}

fn carry(argument: &Argument, binding: &Binding, passage: Passage) -> Carried {
    Carried {
        cfgs: argument.cfgs.clone(),
        mutability: binding.mutability,
        ident: binding.ident.clone(),
        passage,
    }
}

fn passage(argument: &Argument) -> Result<Passage, &'static str> {
    if argument.borrow().is_none() {
        return Ok(Passage::Moved);
    }
    if argument.bindings.is_empty() {
        // Nothing of it can be reached from the body.
        return Ok(Passage::Moved);
    }
    let lent = match (peel(&argument.ty), optional(&argument.ty).map(peel)) {
        (Type::Reference(reference), _) => referent(reference)?,
        (_, Some(Type::Reference(reference))) => match referent(reference)? {
            Passage::Lent(ty) => Passage::LentOption(ty),
            _ => return Err("borrows something that has no name"),
        },
        _ => return Err("borrows from its caller"),
    };
    if argument.is_taken_apart() {
        return Err("takes a borrowed value apart");
    }
    Ok(lent)
}

fn referent(reference: &TypeReference) -> Result<Passage, &'static str> {
    let elem = peel(&reference.elem);
    if reference.mutability.is_some() {
        return Err("is borrowed mutably from its caller");
    }
    if matches!(elem, Type::TraitObject(_)) {
        return Err("borrows a `dyn Trait`, which cannot be copied");
    }
    if tokens::borrow(&elem.to_token_stream()).is_some() {
        return Err("borrows from its caller inside a borrow");
    }
    if tokens::word(&elem.to_token_stream(), "impl").is_some() {
        return Ok(Passage::LentNameless);
    }
    Ok(Passage::Lent(elem.clone()))
}

fn refuse(argument: &Argument, why: &str, diagnostics: &mut Diagnostics) {
    let name = match argument.bindings.first() {
        Some(binding) => format!("`{}`", binding.ident),
        None => "this argument".to_owned(),
    };
    let message = format!(
        "{name} {why}, and the body outlives its caller: take an owned value (`String`, \
         `Arc<…>`), or add `inline` to run the body in the caller's own task",
    );
    diagnostics.refuse(&argument.ty, message);
}

fn refuse_ref_bindings(argument: &Argument, diagnostics: &mut Diagnostics) {
    for binding in &argument.bindings {
        if let Some(keyword) = &binding.by_ref {
            let name = &binding.ident;
            let message = format!(
                "`ref {name}` borrows from the argument, and the body outlives its caller: write \
                 `{name}`, or add `inline`",
            );
            diagnostics.refuse(keyword, message);
        }
    }
}

fn receiver(function: &Function, diagnostics: &mut Diagnostics) -> Option<CopiedReceiver> {
    let Some(FnArg::Receiver(receiver)) = function.sig.inputs.first() else {
        return None;
    };
    let referent: Type = match &receiver.kind {
        ReceiverKind::Reference(_, _, None) => {
            // The caret of a missing `Clone` goes to the receiver.
            parse_quote_spanned!(receiver.self_token.span=> Self)
        }
        ReceiverKind::Typed(_, ty) => match peel(ty) {
            Type::Reference(reference) if reference.mutability.is_none() => {
                (*reference.elem).clone()
            }
            ty if tokens::borrow(&ty.to_token_stream()).is_none() => return None,
            _ => return refuse_receiver(receiver, diagnostics),
        },
        ReceiverKind::Value => return None,
        _ => return refuse_receiver(receiver, diagnostics),
    };
    Some(CopiedReceiver {
        referent: Box::new(referent),
        itself: receiver.self_token,
    })
}

fn refuse_receiver(
    receiver: &syn::Receiver,
    diagnostics: &mut Diagnostics,
) -> Option<CopiedReceiver> {
    let message = "`self` is borrowed from its caller in a way that cannot be copied, and the body \
                   outlives its caller: write `&self` or `self: Arc<Self>`, or add `inline` to run \
                   the body in the caller's own task";
    diagnostics.refuse(receiver, message);
    None
}
