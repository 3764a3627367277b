//! What a detached body can own, and what is refused with `inline` as the way out.

use super::{accepted, refusal};

#[test]
fn arguments_that_cannot_be_owned_are_refused_by_name() {
    let rest = ", and the body outlives its caller: take an owned value (`String`, `Arc<…>`), or \
                add `inline` to run the body in the caller's own task";
    for (argument, why, caret) in [
        (
            "x: &mut u8",
            "`x` is borrowed mutably from its caller",
            "&mut u8",
        ),
        (
            "x: &dyn Db",
            "`x` borrows a `dyn Trait`, which cannot be copied",
            "&dyn Db",
        ),
        (
            "x: &(dyn Db + Send)",
            "`x` borrows a `dyn Trait`, which cannot be copied",
            "",
        ),
        (
            "x: Option<&mut u8>",
            "`x` is borrowed mutably from its caller",
            "Option<&mut u8>",
        ),
        (
            "x: Cow<'_, str>",
            "`x` borrows from its caller",
            "Cow<'_, str>",
        ),
        ("x: Vec<&str>", "`x` borrows from its caller", "Vec<&str>"),
        (
            "x: &[&str]",
            "`x` borrows from its caller inside a borrow",
            "&[&str]",
        ),
        (
            "x: Pin<&mut X>",
            "`x` borrows from its caller",
            "Pin<&mut X>",
        ),
        (
            "(x, _): &(u8, u8)",
            "`x` takes a borrowed value apart",
            "&(u8, u8)",
        ),
    ] {
        let function = format!("async fn f({argument}) {{ use_it(x) }}");
        let (message, under) = refusal("", &function);
        assert_eq!(message, format!("{why}{rest}"));
        assert!(caret.is_empty() || under == caret, "{under}");
        accepted("inline", &function);
    }
}

#[test]
fn receivers_that_cannot_be_copied_are_refused() {
    for receiver in [
        "&mut self",
        "&'a mut self",
        "self: &mut Self",
        "self: Pin<&mut Self>",
    ] {
        let function = format!("async fn f({receiver}) {{}}");
        let (message, caret) = refusal("", &function);
        assert!(message.starts_with("`self` is borrowed from its caller in a way that cannot"));
        assert_eq!(caret, receiver);
        accepted("inline", &function);
    }
}

#[test]
fn references_that_never_end_are_moved() {
    let expansion = accepted("skip(x)", "async fn f(x: &'static str) { g(x) }");
    assert!(expansion.contains("let x = x ;"), "{expansion}");
}

#[test]
fn what_a_callback_borrows_is_its_own_business() {
    accepted(
        "skip(f)",
        "async fn f(f: Arc<dyn Fn(&str) -> u8 + Send + Sync>) { f(\"\"); }",
    );
    accepted(
        "skip(f)",
        "async fn f(f: for<'a> fn(&'a str, &u8)) { f(\"\", &1); }",
    );
}

#[test]
fn ref_bindings_are_refused() {
    let (message, caret) = refusal("", "async fn f(Path(ref id): Path<u64>) {}");
    assert_eq!(
        message,
        "`ref id` borrows from the argument, and the body outlives its caller: write `id`, or add \
         `inline`",
    );
    assert_eq!(caret, "ref");
}

#[test]
fn guards_are_moved_even_if_the_body_ignores_them() {
    let expansion = accepted("skip(_guard)", "async fn f(_guard: Guard) {}");
    assert!(expansion.contains("let _guard = _guard ;"), "{expansion}");
}

#[test]
fn references_that_the_body_ignores_are_not_copied() {
    let expansion = accepted("", "async fn f(&self, name: &str) { g() }");
    assert!(
        !expansion.contains("to_owned") && !expansion.contains("clone"),
        "{expansion}"
    );
}

#[test]
fn types_from_a_macro_rules_fragment_are_seen_through() {
    let group = |source: &str| {
        let mut group =
            proc_macro2::Group::new(proc_macro2::Delimiter::None, super::tokens(source));
        group.set_span(proc_macro2::Span::call_site());
        group
    };
    let (lent, boxed) = (
        group("&str"),
        group("Pin<Box<dyn Future<Output = u8> + Send>>"),
    );
    let function = quote::quote!(async fn f(x: #lent) { g(x) });
    let expansion = crate::attribute::attribute(super::tokens(""), function)
        .expect("legal")
        .to_string();
    assert!(expansion.contains("copied :: < str , _ >"), "{expansion}");
    let function = quote::quote!(fn f() -> #boxed { g() });
    crate::attribute::attribute(super::tokens(""), function).expect("legal");
}
