//! "Did you mean" is close enough to help and far enough not to guess.

use crate::names::{OPTIONS, did_you_mean, meant_option};

#[test]
fn slips_of_the_finger_are_recognised() {
    for (word, meant) in [
        ("fresh_tll", "fresh_ttl"),
        ("fresh_ttll", "fresh_ttl"),
        ("freshttl", "fresh_ttl"),
        ("kye", "key"),
        ("keys", "key"),
        ("entyr", "entry"),
        ("wait_time", "wait_timeout"),
        ("header_key", "header_keys"),
        ("max_payloads", "max_payload"),
    ] {
        assert_eq!(meant_option(word), Some(meant), "{word}");
    }
}

#[test]
fn words_of_other_libraries_are_recognised() {
    for (word, meant) in [
        ("ttl", "fresh_ttl"),
        ("timeout", "wait_timeout"),
        ("ignore", "skip"),
    ] {
        assert_eq!(meant_option(word), Some(meant), "{word}");
    }
}

#[test]
fn other_words_are_not_guessed_at() {
    for word in ["x", "size", "redis", "capacity", "convert"] {
        assert_eq!(meant_option(word), None, "{word}");
    }
}

#[test]
fn closest_candidate_wins() {
    assert_eq!(
        did_you_mean("tenant_ie", ["tenant_is", "tenant", "tenants"]),
        Some("tenant_is")
    );
}

#[test]
fn every_example_starts_with_its_option() {
    for (option, example) in OPTIONS {
        assert!(example.starts_with(option), "{example}");
    }
}
