//! Every argument is in the key, skipped, or refused.

use super::{accepted, refusal, refusals};

#[test]
fn argument_that_nothing_mentions_is_refused() {
    let (message, caret) = refusal("key = id", "async fn f(id: u64, tenant: &str) {}");
    assert_eq!(
        message,
        "`tenant` is neither in `key` nor skipped: two calls that differ only in `tenant` would \
         share one result; use it in `key`, or list it in `skip(tenant)`",
    );
    assert_eq!(caret, "tenant");
}

#[test]
fn every_forgotten_argument_is_refused_at_once() {
    let messages = refusals(
        "key = 1",
        "async fn f(a: u8, (b, C { d, .. }): (u8, C), _: u8) {}",
    );
    let names: Vec<&str> = messages
        .iter()
        .filter_map(|message| message.split('`').nth(1))
        .collect();
    assert_eq!(names, ["a", "b", "d"]);
}

#[test]
fn arguments_are_found_wherever_a_key_can_mention_them() {
    for key in [
        "id",
        "(id)",
        "(1, id)",
        "(id, ::std::process::id())",
        "id.to_string()",
        "f(&id)",
        "{ let x = id; x }",
        "\"{id}\"",
        "\"orders/{id.0}\"",
        "format!(\"{id:?}\")",
        "format!(\"{}\", id)",
    ] {
        accepted(&format!("key = {key}"), "async fn f(id: Id) {}");
    }
}

#[test]
fn text_that_only_looks_like_an_argument_does_not_account_for_it() {
    for key in [
        "\"id\"",
        "f(\"{id}\")",
        "format!(\"{{id}}\")",
        "ids",
        "\"{ids}\"",
    ] {
        assert_eq!(
            refusals(&format!("key = {key}"), "async fn f(id: Id) {}").len(),
            1,
            "{key}"
        );
    }
}

#[test]
fn field_of_the_same_name_does_not_account_for_an_argument() {
    for key in ["req.id", "(req.id, req)", "\"{req.id}\"", "ids::id(req)"] {
        let messages = refusals(
            &format!("key = {key}"),
            "async fn f(req: Request, id: u64) {}",
        );
        assert_eq!(messages.len(), 1, "{key}: {messages:?}");
    }
}

#[test]
fn without_a_key_nothing_needs_to_be_accounted_for() {
    accepted("", "async fn f(id: u64, tenant: String) {}");
    accepted("skip(id)", "async fn f(id: u64, tenant: String) {}");
}

#[test]
fn receiver_and_underscore_are_exempt() {
    accepted(
        "key = id",
        "async fn f(&self, id: u64, _: u64, Unread(_): Unread) {}",
    );
}

#[test]
fn raw_identifiers_are_found_by_either_spelling() {
    accepted("key = r#type", "async fn f(r#type: u64) {}");
    accepted("key = \"{r#type}\"", "async fn f(r#type: u64) {}");
}

#[test]
fn skip_of_a_stranger_is_refused_with_the_closest_name() {
    let (message, caret) = refusal("skip(tennant)", "async fn f(tenant: u64) {}");
    assert_eq!(
        message,
        "the function has no argument `tennant`: did you mean `tenant`?"
    );
    assert_eq!(caret, "tennant");
    let (message, _) = refusal("skip(database)", "async fn f(id: u64) {}");
    assert_eq!(message, "the function has no argument `database`");
}

#[test]
fn skip_of_the_receiver_is_refused() {
    let (message, _) = refusal("skip(self)", "async fn f(&self) {}");
    assert_eq!(
        message,
        "`self` is never part of the key unless `key` says so: remove it"
    );
}

#[test]
fn skipping_twice_is_refused() {
    let (message, _) = refusal("skip(id, id)", "async fn f(id: u64) {}");
    assert_eq!(message, "`id` is skipped twice");
}

#[test]
fn argument_cannot_be_both_in_the_key_and_skipped() {
    let (message, _) = refusal("key = id, skip(id)", "async fn f(id: u64) {}");
    assert_eq!(message, "`id` is used in `key`, so it cannot be in `skip`");
}
