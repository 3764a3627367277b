//! The list of options: each once, each with a value of its kind, all errors at once.

use super::{accepted, refusal, refusals};

const F: &str = "async fn f() {}";

#[test]
fn unknown_option_is_answered_with_the_closest_one() {
    let (message, caret) = refusal("fresh_tll = \"3s\"", F);
    assert_eq!(
        message,
        "`#[coalesce]` has no option `fresh_tll`: did you mean `fresh_ttl`?"
    );
    assert_eq!(caret, "fresh_tll");
}

#[test]
fn option_like_no_other_is_answered_with_all_of_them() {
    let (message, _) = refusal("capacity = 3", F);
    assert!(message.starts_with(
        "`#[coalesce]` has no option `capacity`: the options are key, skip, header_keys,"
    ));
}

#[test]
fn option_given_twice_is_refused_at_the_second() {
    assert_eq!(
        refusal("version = 1, version = 2", F),
        ("`version` is given twice".to_owned(), "version".to_owned()),
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let messages = refusals(
        "kee = id, version = \"x\", version = 2, fresh_ttl = , errors = \"ignore\" junk, inline = 1",
        "async fn f(id: u64) -> &str { id }",
    );
    assert_eq!(messages.len(), 7, "{messages:#?}");
}

#[test]
fn values_of_another_kind_are_refused_with_an_example() {
    for (arguments, message) in [
        ("key", "`key` needs a value: `key = (tenant, id)`"),
        (
            "crate",
            "`crate` needs a value: `crate = my_crate::coalesce`",
        ),
        (
            "skip = id",
            "`skip` lists arguments in parentheses: `skip(ctx, db)`",
        ),
        (
            "version = \"2\"",
            "`version` takes a whole number: `version = 2`",
        ),
        (
            "errors = retry",
            "`errors` takes a string: `errors = \"retry\"`",
        ),
        (
            "header_keys = \"X\"",
            "`header_keys` takes a list of strings: `header_keys = [\"X-Tenant-Id\"]`",
        ),
        ("skip(1)", "`skip` lists arguments by name: `skip(ctx, db)`"),
        ("header_keys = [x]", "`header_keys` takes a list of strings"),
        (
            "enabled = 1",
            "`enabled` takes `true`, `false` or a string: `enabled = \
             \"${ORDERS_COALESCE:true}\"`",
        ),
        (
            "codec = \"json\"",
            "`codec` takes `json`, `postcard` or the path of a codec: `codec = json`",
        ),
        (
            "max_payload = big",
            "`max_payload` takes a number of bytes or a string: `max_payload = \"1MiB\"`",
        ),
        (
            "inline = true",
            "`inline` takes no value: write the word alone",
        ),
        (
            "entry = \"x\"",
            "`entry` takes the name of a function: `entry = get_order_entry`",
        ),
        ("inline version = 1", "expected `,` before the next option"),
    ] {
        assert_eq!(refusal(arguments, F).0, message);
    }
}

#[test]
fn words_and_sizes_that_mean_nothing_are_refused() {
    for (arguments, message, caret) in [
        (
            "errors = \"retyr\"",
            "`errors` is one of \"share\", \"retry\"; did you mean \"retry\"?",
            "\"retyr\"",
        ),
        (
            "on_redis_error = \"x\"",
            "`on_redis_error` is one of \"run\", \"fail\"",
            "\"x\"",
        ),
        ("namespace = \"\"", "a namespace cannot be empty", "\"\""),
        (
            "version = -1",
            "a version is a number from 0 to 4294967295",
            "-1",
        ),
        (
            "max_payload = \"big\"",
            "\"big\" is not a size such as \"1MiB\" or \"64KB\"",
            "\"big\"",
        ),
        (
            "max_payload = 0",
            "\"0\" is not between 1 byte and 511 MiB",
            "0",
        ),
        (
            "enabled = \"maybe\"",
            "`enabled` is \"true\", \"false\", or interpolated: \"${ORDERS_COALESCE:true}\"",
            "\"maybe\"",
        ),
        (
            "self_bypass = \"maybe\"",
            "`self_bypass` is \"true\", \"false\", or interpolated: \"${ORDERS_SELF_BYPASS:true}\"",
            "\"maybe\"",
        ),
        (
            "header_keys = [\"X Y\"]",
            "\"X Y\" is not the name of a header",
            "\"X Y\"",
        ),
        (
            "header_keys = []",
            "`header_keys` names no header: leave it out",
            "header_keys",
        ),
    ] {
        assert_eq!(
            refusal(arguments, F),
            (message.to_owned(), caret.to_owned())
        );
    }
}

#[test]
fn defaults_that_are_written_out_change_nothing() {
    assert_eq!(
        accepted("errors = \"share\", on_redis_error = \"run\"", F),
        accepted("", F)
    );
}

#[test]
fn trailing_comma_is_accepted() {
    accepted("version = 1, inline,", F);
}
