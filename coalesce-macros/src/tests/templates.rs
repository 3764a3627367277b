//! Keys that are written as templates.

use super::{accepted, refusal};

#[test]
fn holes_are_expressions() {
    for (template, printed) in [
        ("{id}", "Hole (& id)"),
        ("{ id }", "Hole (& id)"),
        ("{self.tenant}/{id + 1}", "Hole (& (id + 1))"),
        ("{id}-{f(id)[0]}", "Hole (& f (id) [0])"),
        ("{id}-{S { n: id }.n}", "Hole (& S { n : id } . n)"),
    ] {
        let expansion = accepted(
            &format!("key = {template:?}"),
            "async fn f(&self, id: u64) {}",
        );
        assert!(expansion.contains(printed), "{template}: {expansion}");
    }
}

#[test]
fn text_without_holes_is_a_constant_key() {
    let expansion = accepted("key = \"all\"", "async fn f() {}");
    assert!(expansion.contains(". key (& [& \"all\"])"), "{expansion}");
}

#[test]
fn templates_that_cannot_be_read_are_refused() {
    let text = "cannot stand in the text of a template: use visible ASCII characters other than \
                `%`, `~` and braces";
    let braces = "braces stand around the holes of a template and nowhere else";
    for (template, message) in [
        (
            "",
            "an empty template names nothing: write `key = ()`".to_owned(),
        ),
        (
            "{}",
            "an empty hole names nothing: write `{order_id}`".to_owned(),
        ),
        ("{id", format!("`{{` is never closed: {braces}")),
        ("id}", format!("`}}` closes nothing: {braces}")),
        (
            "{{id}}",
            format!("`{{{{` is not a way to write a brace: {braces}"),
        ),
        (
            "{id:?}",
            "`{id:?}` is not an expression; a hole takes no format such as `:?`".to_owned(),
        ),
        ("{id +}", "`{id +}` is not an expression".to_owned()),
        ("a b{id}", format!("' ' {text}")),
        ("a%{id}", format!("'%' {text}")),
        ("{id}~", format!("'~' {text}")),
        ("é{id}", format!("'é' {text}")),
        (
            "{id}{id}",
            "nothing separates `{id}` from the hole before it, so different values could give one \
             key: put a character such as `/` between them"
                .to_owned(),
        ),
    ] {
        let (refused, caret) = refusal(&format!("key = {template:?}"), "async fn f(id: u64) {}");
        assert_eq!(refused, message);
        assert_eq!(caret, format!("{template:?}"));
    }
}

#[test]
fn hole_that_names_no_argument_leaves_the_argument_unaccounted_for() {
    let (message, _) = refusal("key = \"{ids}\"", "async fn f(id: u64) {}");
    assert!(
        message.starts_with("`id` is neither in `key` nor skipped"),
        "{message}"
    );
}
