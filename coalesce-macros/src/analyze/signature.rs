//! Which functions can be annotated, and what their callers receive.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    GenericArgument, Path, PathArguments, PathSegment, ReturnType, Safety, Signature, Type,
    TypeParamBound, parse_quote_spanned,
};

use super::Form;
use crate::diagnostics::Diagnostics;
use crate::tokens;

/// How the function is asynchronous and what it gives to its callers.
pub(crate) fn understand(sig: &Signature, diagnostics: &mut Diagnostics) -> Option<(Form, Type)> {
    refuse_qualifiers(sig, diagnostics);
    let (form, output) = match (&sig.asyncness, boxed_output(&sig.output)) {
        (None, Some(output)) => (Form::Boxed, output),
        (None, None) => {
            refuse_sync(sig, diagnostics);
            return None;
        }
        (Some(_), _) => (Form::Async, written_output(sig)),
    };
    refuse_output(&output, diagnostics);
    Some((form, output))
}

fn refuse_qualifiers(sig: &Signature, diagnostics: &mut Diagnostics) {
    if let Some(constness) = &sig.constness {
        let message = "a `const fn` runs inside the compiler, where there is nobody to share with: \
                       write `async fn`";
        diagnostics.refuse(constness, message);
    }
    if let Safety::Unsafe(keyword) = &sig.safety {
        let message = "the caller of an `unsafe fn` promises something about this call, and others \
                       would share its result: annotate a safe function that calls it";
        diagnostics.refuse(keyword, message);
    }
    if let Some(abi) = &sig.abi {
        let message = "foreign code cannot await a shared call: annotate a Rust function and call \
                       it from this one";
        diagnostics.refuse(abi, message);
    }
}

fn refuse_sync(sig: &Signature, diagnostics: &mut Diagnostics) {
    // A `const fn` has been refused with the same advice.
    if sig.constness.is_some() {
        return;
    }
    let name = &sig.ident;
    let returns_future = tokens::word(&sig.output.to_token_stream(), "Future").is_some();
    let message = if returns_future {
        format!(
            "`#[coalesce]` cannot see what this future gives: write `async fn {name}`, or return \
             `Pin<Box<dyn Future<Output = …> + Send>>`",
        )
    } else {
        format!(
            "`#[coalesce]` makes callers wait for each other: write `async fn {name}`, or, if an \
             attribute such as `#[tokio::main]` took the `async` away, put `#[coalesce]` above it",
        )
    };
    diagnostics.refuse(&sig.fn_token, message);
}

fn refuse_output(output: &Type, diagnostics: &mut Diagnostics) {
    let tokens = output.to_token_stream();
    if let Some(span) = tokens::word(&tokens, "impl") {
        let message = "an `impl Trait` cannot be stored for other callers: name the type";
        diagnostics.refuse_at(span, message);
    } else if let Some(span) = tokens::borrow(&tokens) {
        let message = "a shared result outlives the call, so it cannot borrow: return an owned \
                       value such as `String`, `Vec<T>` or `Arc<T>`";
        diagnostics.refuse_at(span, message);
    } else if matches!(output, Type::Never(_)) {
        diagnostics.refuse(
            output,
            "a function that never returns has no result to share",
        );
    }
}

fn written_output(sig: &Signature) -> Type {
    match &sig.output {
        ReturnType::Type(_, ty) => (**ty).clone(),
        // The name is the closest thing to a return type that is not written.
        ReturnType::Default => parse_quote_spanned!(nowhere(&sig.ident)=> ()),
    }
}

fn nowhere(near: &impl Spanned) -> Span {
    Span::mixed_site().located_at(near.span())
}

/// The `T` of `Pin<Box<dyn Future<Output = T>>>`.
fn boxed_output(output: &ReturnType) -> Option<Type> {
    let ReturnType::Type(_, ty) = output else {
        return None;
    };
    let boxed = only_argument(path_of(ty)?, "Pin")?;
    let future = only_argument(path_of(boxed)?, "Box")?;
    let Type::TraitObject(object) = peel(future) else {
        return None;
    };
    object.bounds.iter().find_map(|bound| match bound {
        TypeParamBound::Trait(bound) => future_output(&bound.path),
        _ => None,
    })
}

fn future_output(path: &Path) -> Option<Type> {
    arguments(path.segments.last()?, "Future")?.find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.clone()),
        _ => None,
    })
}

fn only_argument<'a>(path: &'a Path, name: &str) -> Option<&'a Type> {
    arguments(path.segments.last()?, name)?.find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn arguments<'a>(
    segment: &'a PathSegment,
    name: &str,
) -> Option<impl Iterator<Item = &'a GenericArgument>> {
    match &segment.arguments {
        PathArguments::AngleBracketed(list) if segment.ident == name => Some(list.args.iter()),
        _ => None,
    }
}

fn path_of(ty: &Type) -> Option<&Path> {
    match peel(ty) {
        Type::Path(path) => Some(&path.path),
        _ => None,
    }
}

/// The `T` of `Option<T>`.
pub(crate) fn optional(ty: &Type) -> Option<&Type> {
    only_argument(path_of(ty)?, "Option")
}

/// `ty` without its parentheses, those included that `macro_rules!` puts around a `$t:ty`.
pub(crate) fn peel(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            _ => return ty,
        };
    }
}
