//! Lengths of time are checked while they are literal.

use super::{accepted, refusal, refusals};

const F: &str = "async fn f() {}";

#[test]
fn every_spelling_of_a_length_of_time_is_accepted() {
    for (written, printed) in [
        ("30", "\"30s\""),
        ("\"30\"", "\"30s\""),
        ("\"250ms\"", "\"250ms\""),
        ("\"1h 30m\"", "\"1h 30m\""),
        ("\"${NAME:30s}\"", "\"${NAME:30s}\""),
        ("\"${NAME}\"", "\"${NAME}\""),
        ("0", "\"0s\""),
    ] {
        let expansion = accepted(&format!("fresh_ttl = {written}"), F);
        assert!(
            expansion.contains(&format!(". fresh_ttl ({printed})")),
            "{written}: {expansion}"
        );
    }
}

#[test]
fn constant_is_passed_as_a_constant() {
    let expansion = accepted("fresh_ttl = clocks::FRESH", F);
    assert!(
        expansion.contains(". fresh_ttl_is (clocks :: FRESH)"),
        "{expansion}"
    );
}

#[test]
fn unreadable_lengths_of_time_are_refused() {
    for (written, message) in [
        (
            "\"5 parsecs\"",
            "\"5 parsecs\" is not a length of time such as \"1h 30m\": unknown time unit \
             \"parsecs\", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, \
             years (and few variations)",
        ),
        (
            "\"1M\"",
            "`M` in \"1M\" would be months: write `30d` or `1m`",
        ),
        (
            "\"2h 1M\"",
            "`M` in \"2h 1M\" would be months: write `30d` or `1m`",
        ),
        (
            "30u64",
            "`30u64` has a suffix: write `30` for seconds, or a string such as \"30s\"",
        ),
        (
            "\"10us\"",
            "\"10us\" is shorter than a millisecond, the finest that Redis has",
        ),
        (
            "\"none\"",
            "`fresh_ttl` cannot be \"none\": leave it out, or write `fresh_ttl = 0`",
        ),
    ] {
        let (refused, caret) = refusal(&format!("fresh_ttl = {written}"), F);
        assert_eq!(refused, message);
        assert_eq!(caret, written);
    }
}

#[test]
fn values_that_are_no_length_of_time_are_refused() {
    let message = "`fresh_ttl` takes seconds, a string or the path of a constant: \
                   `fresh_ttl = \"30s\"`";
    for written in ["1.5", "-3", "true", "[1]"] {
        assert_eq!(
            refusal(&format!("fresh_ttl = {written}"), F).0,
            message,
            "{written}"
        );
    }
    let (refused, _) = refusal("fresh_ttl = Duration::from_secs(3)", F);
    assert_eq!(
        refused,
        "`fresh_ttl` cannot call a function: write `fresh_ttl = \"30s\"`, or name a constant that \
         holds the duration",
    );
}

#[test]
fn constant_of_self_is_refused_because_a_static_cannot_name_it() {
    let (message, caret) = refusal("fresh_ttl = Self::TTL", F);
    assert_eq!(
        message,
        "the call site is a static, which cannot name `Self`: write the name of the type",
    );
    assert_eq!(caret, "Self::TTL");
}

#[test]
fn stale_cannot_end_before_fresh() {
    let (message, caret) = refusal("stale_ttl = \"10s\", fresh_ttl = 30", F);
    assert_eq!(
        message,
        "`stale_ttl` (10s) is shorter than `fresh_ttl` (30s): a value is served as stale after it \
         was fresh",
    );
    assert_eq!(caret, "\"10s\"");
    accepted("stale_ttl = 30, fresh_ttl = 30", F);
    accepted("stale_ttl = 10, fresh_ttl = \"${NAME:30s}\"", F);
}

#[test]
fn waiting_must_outlast_a_flight() {
    let (message, caret) = refusal("pending_ttl = 20, wait_timeout = 20", F);
    assert_eq!(
        message,
        "`wait_timeout` (20s) must be longer than `pending_ttl` (20s): whoever waits must be able \
         to outlast a flight and take over",
    );
    assert_eq!(caret, "20");
    let (message, _) = refusal("wait_timeout = \"25s\"", F);
    assert!(
        message
            .starts_with("`wait_timeout` (25s) must be longer than `pending_ttl` (30s by default)")
    );
    let (message, caret) = refusal("pending_ttl = \"1m\"", F);
    assert!(
        message
            .starts_with("`wait_timeout` (45s by default) must be longer than `pending_ttl` (1m)")
    );
    assert_eq!(caret, "\"1m\"");
    accepted("pending_ttl = \"1h\", wait_timeout = \"none\"", F);
    accepted("pending_ttl = LONG", F);
}

#[test]
fn flight_must_be_allowed_to_take_some_time_and_to_end() {
    let (message, _) = refusal("pending_ttl = 0", F);
    assert_eq!(
        message,
        "`pending_ttl` is the longest that one flight may take: it cannot be 0"
    );
    let (message, _) = refusal("pending_ttl = \"none\"", F);
    assert_eq!(
        message,
        "a flight cannot hold its key for ever: write how long"
    );
}

#[test]
fn one_bad_clock_is_one_error() {
    assert_eq!(
        refusals("fresh_ttl = \"x\", stale_ttl = 1, pending_ttl = \"y\"", F).len(),
        2
    );
}
