//! Options that contradict each other are refused with both names.

use super::{accepted, refusal};

const F: &str = "async fn f() {}";

#[test]
fn contradictions_name_both_options_and_point_at_the_second() {
    for (arguments, message, caret) in [
        (
            "inline, entry = e",
            "`inline` and `entry` cannot be used together: an entry may outlive the call, and an \
             inline body lives inside it",
            "entry",
        ),
        (
            "stale_ttl = 5, inline",
            "`inline` and `stale_ttl` cannot be used together: a stale value is refreshed in the \
             background, and an inline body has no task of its own",
            "inline",
        ),
        (
            "errors = \"retry\", keep_errors = 2",
            "`keep_errors` and `errors` cannot be used together: kept errors are served to later \
             callers, and `errors = \"retry\"` shares none",
            "keep_errors",
        ),
        (
            "missing_header = \"error\"",
            "`missing_header` means nothing without `header_keys`",
            "missing_header",
        ),
    ] {
        assert_eq!(
            refusal(arguments, F),
            (message.to_owned(), caret.to_owned())
        );
    }
}

#[test]
fn what_only_looks_like_a_contradiction_is_accepted() {
    accepted("errors = \"share\", keep_errors = 2", F);
    accepted("inline, fresh_ttl = 5", F);
    accepted(
        "missing_header = \"empty\", header_keys = [\"X-Tenant\"]",
        F,
    );
}
