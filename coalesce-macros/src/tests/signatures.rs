//! What cannot be annotated is refused with what to write instead, and given back unchanged.

use super::{accepted, refusal, refusals, tokens};

#[test]
fn functions_that_cannot_be_shared_are_refused() {
    for (function, message, caret) in [
        (
            "fn f() {}",
            "`#[coalesce]` makes callers wait for each other: write `async fn f`, or, if an \
             attribute such as `#[tokio::main]` took the `async` away, put `#[coalesce]` above it",
            "fn",
        ),
        (
            "fn f() -> impl Future<Output = u8> { g() }",
            "`#[coalesce]` cannot see what this future gives: write `async fn f`, or return \
             `Pin<Box<dyn Future<Output = …> + Send>>`",
            "fn",
        ),
        (
            "const fn f() {}",
            "a `const fn` runs inside the compiler, where there is nobody to share with: write \
             `async fn`",
            "const",
        ),
        (
            "async unsafe fn f() {}",
            "the caller of an `unsafe fn` promises something about this call, and others would \
             share its result: annotate a safe function that calls it",
            "unsafe",
        ),
        (
            "async extern \"C\" fn f() {}",
            "foreign code cannot await a shared call: annotate a Rust function and call it from \
             this one",
            "extern \"C\"",
        ),
        (
            "async fn f(&self) -> u8;",
            "`f` has no body to share: put `#[coalesce]` on the implementation, or give this \
             declaration a default body",
            "f",
        ),
        (
            "async fn f() -> impl Display { 1 }",
            "an `impl Trait` cannot be stored for other callers: name the type",
            "impl",
        ),
        (
            "async fn f() -> ! { loop {} }",
            "a function that never returns has no result to share",
            "!",
        ),
    ] {
        assert_eq!(
            refusal("", function),
            (message.to_owned(), caret.to_owned())
        );
    }
}

#[test]
fn borrowed_results_are_refused() {
    for output in [
        "&str",
        "&'a str",
        "Option<&'a [u8]>",
        "Cow<'_, str>",
        "(u8, Ref<'a>)",
    ] {
        let (message, _) = refusal("", &format!("async fn f() -> {output} {{ g() }}"));
        assert!(message.starts_with("a shared result outlives the call, so it cannot borrow"));
    }
    accepted("", "async fn f() -> Cow<'static, str> { g() }");
    accepted("", "async fn f() -> Result<u8, &'static str> { g() }");
}

#[test]
fn other_items_are_refused() {
    for (item, message) in [
        (
            "struct X;",
            "`#[coalesce]` goes on an async function, not on `struct`",
        ),
        (
            "pub enum X {}",
            "`#[coalesce]` goes on an async function, not on `enum`",
        ),
        (
            "const X: u8 = 1;",
            "`#[coalesce]` goes on an async function, not on `const`",
        ),
        (
            "impl X {}",
            "`#[coalesce]` goes on an async function, not on `impl`; put it on the methods inside",
        ),
    ] {
        assert_eq!(refusal("", item).0, message);
    }
}

#[test]
fn errors_of_the_signature_join_those_of_the_options() {
    assert_eq!(refusals("kye = id", "fn f(id: u64) {}").len(), 2);
}

#[test]
fn refused_function_is_given_back_unchanged() {
    let function = "#[doc = \"x\"] fn f(id: u64) -> u64 { id + }";
    let errors =
        crate::attribute::attribute(tokens("kye = id"), tokens(function)).expect_err("refused");
    let given_back = crate::diagnostics::beside(&errors, tokens(function)).to_string();
    assert!(
        given_back.ends_with(&tokens(function).to_string()),
        "{given_back}"
    );
    assert_eq!(
        given_back.matches("compile_error").count(),
        2,
        "{given_back}"
    );
}

#[test]
fn half_typed_body_still_gives_a_function() {
    let expansion = accepted("", "async fn f(foo: Foo) -> u64 { foo. }");
    assert!(
        expansion.contains("async fn f (foo : Foo) -> u64"),
        "{expansion}"
    );
}

#[test]
fn attributes_stay_on_the_function_once() {
    let expansion = accepted(
        "",
        "/// Text.\n#[must_use] #[deprecated] pub(crate) async fn f() {}",
    );
    for attribute in ["Text.", "must_use", "deprecated", "pub (crate)"] {
        assert_eq!(
            expansion.matches(attribute).count(),
            1,
            "{attribute}: {expansion}"
        );
    }
}

#[test]
fn raw_name_is_described_without_its_prefix() {
    let expansion = accepted("", "async fn r#match() {}");
    assert!(expansion.contains("new (\"match\""), "{expansion}");
}

#[test]
fn body_is_printed_once() {
    let expansion = accepted(
        "entry = e",
        "async fn f(&self, id: u64) { marker(self, id) }",
    );
    assert_eq!(expansion.matches("marker").count(), 1, "{expansion}");
}
