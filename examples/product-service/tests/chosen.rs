//! The acceptance understands what a test harness understands, and refuses the rest.

#[path = "acceptance/chosen.rs"]
mod chosen;

use chosen::Chosen;

fn among(arguments: &str) -> Result<Chosen, clap::Error> {
    let words = ["acceptance"]
        .into_iter()
        .chain(arguments.split_whitespace());
    Chosen::among(words.map(Into::into))
}

#[test]
fn filters_choose_and_skip_takes_away() {
    for (arguments, expected) in [
        ("", "slow slower redis"),
        ("slow", "slow slower"),
        ("slow redis", "slow slower redis"),
        ("--exact slow", "slow"),
        ("--skip slow", "redis"),
        ("--skip=redis slow", "slow slower"),
        ("--skip slow --skip redis", ""),
        ("--exact --skip slow", "slower redis"),
        ("--ignored", ""),
        ("--include-ignored slower", "slower"),
        (
            "-q --test-threads 1 --nocapture --color always redis",
            "redis",
        ),
        ("--format=terse -Z unstable-options redis", "redis"),
    ] {
        let chosen = among(arguments).unwrap();
        let found: Vec<_> = ["slow", "slower", "redis"]
            .into_iter()
            .filter(|name| chosen.has(name))
            .collect();
        assert_eq!(found.join(" "), expected, "{arguments}");
        assert!(!chosen.are_listed);
    }
    assert!(among("--list slow").unwrap().are_listed);
}

#[test]
fn what_no_harness_knows_is_refused() {
    for arguments in ["--shuffled", "--only slow", "--skip"] {
        assert!(among(arguments).is_err(), "{arguments}");
    }
}
