//! What processes write of themselves: it explains what it is about, and nothing else.

use super::tests::{CALM, answer, run};
use super::*;
use crate::ledger::Note;

const S: u64 = 1_000_000;

fn noted(name: &str, started: u64, ended: u64, note: Note) -> Run {
    Run {
        notes: vec![note],
        ..run(name, started, Some(ended))
    }
}

/// An answer without a value, of the process 7.
fn without(error: &str, arrived: u64, answered: u64) -> Answer {
    Answer {
        of_key: None,
        run: None,
        error: Some(error.to_owned()),
        ..answer("a", "", arrived, answered)
    }
}

fn wide(expected: Expectation<'_>) -> Expectation<'_> {
    Expectation {
        longest: Duration::from_secs(60),
        ..expected
    }
}

#[test]
fn a_run_past_the_switch_needs_no_other_reason_while_it_was_off_and_is_none_for_others() {
    let off = [10 * S..=11 * S];
    let expected = Expectation {
        switched: &off,
        ..CALM
    };
    let found = |second: &Run, expected: &Expectation<'_>| {
        let runs = [run("1.0", 9 * S, Some(99 * S)), second.clone()];
        let found = check(&runs, &[], expected);
        let switched = found.explained.get(&Reason::Switched).copied();
        (switched.unwrap_or(0), found.unexplained.len())
    };
    let past = |at| noted("2.0", at, at + S, Note::PastSwitch);
    assert_eq!(found(&past(10 * S), &expected), (1, 0));
    assert_eq!(
        found(&past(13 * S), &expected),
        (1, 0),
        "it is read each second"
    );
    assert_eq!(found(&past(13 * S + 1), &expected), (0, 1), "long on again");
    assert_eq!(
        found(&past(10 * S - 1), &expected),
        (0, 1),
        "before it was off"
    );
    assert_eq!(found(&past(10 * S), &CALM), (0, 1), "it was never off");
    let coordinated = run("2.0", 10 * S, Some(11 * S));
    assert_eq!(found(&coordinated, &expected), (0, 1), "it did not go past");
    // Who cannot read it does not know that it is on again.
    let trouble = [12 * S..=20 * S];
    let in_trouble = Expectation {
        trouble: &trouble,
        ..expected
    };
    assert_eq!(found(&past(22 * S), &in_trouble), (1, 0));
    assert_eq!(found(&past(22 * S + 1), &in_trouble), (0, 1));
    let stopped = Periods::from_iter([(2, 12 * S..=20 * S)]);
    let stood = Expectation {
        stopped: &stopped,
        ..expected
    };
    assert_eq!(found(&past(22 * S), &stood), (1, 0));
    // It holds no key, so who begins beside it needs no reason.
    let runs = [past(10 * S), run("3.0", 10 * S + 1, Some(12 * S))];
    let found = check(&runs, &[], &expected);
    assert_eq!((found.unexplained.len(), found.bypasses), (0, 1));
    assert_eq!((found.calm, found.strict), (1, 1));
}

#[test]
fn a_run_of_a_process_that_ends_is_its_own_behind_the_order_and_not_before() {
    let ending = [(2, 10 * S)];
    let expected = Expectation {
        ending: &ending,
        ..CALM
    };
    let unexplained = |name, at| {
        let runs = [noted(name, at, at + S, Note::PastEnd)];
        check(&runs, &[], &expected).unexplained.len()
    };
    assert_eq!(unexplained("2.0", 10 * S), 0);
    assert_eq!(unexplained("2.0", 10 * S - 1), 1);
    assert_eq!(unexplained("3.0", 10 * S), 1, "another was told");
}

#[test]
fn a_run_that_takes_longer_than_it_may_hold_its_key_is_a_reason_from_then_on() {
    let expected = Expectation {
        pending: Duration::from_secs(2),
        ..CALM
    };
    let found = |first_ends, second, pending| {
        let runs = [
            run("1.0", 0, Some(first_ends)),
            run("1.1", second, Some(second + S)),
        ];
        let expected = Expectation {
            pending: Duration::from_secs(pending),
            ..expected
        };
        let found = check(&runs, &[], &expected);
        (
            found.explained.contains_key(&Reason::Outlived),
            found.unexplained.len(),
        )
    };
    // It was granted the key a moment before it began.
    assert_eq!(found(9 * S, 1_750_000, 2), (true, 0));
    assert_eq!(found(9 * S, 1_749_999, 2), (false, 1));
    assert_eq!(found(9 * S, 1_750_000, 30), (false, 1));
    // One that ended in time is kept for as long as its value is.
    let runs = [run("1.0", 0, Some(S)), run("2.0", 9 * S, Some(10 * S))];
    let kept = Expectation {
        age: Duration::from_secs(60),
        ..expected
    };
    assert_eq!(check(&runs, &[], &kept).unexplained.len(), 1);
}

#[test]
fn nobody_is_told_the_outcome_of_a_run_that_panicked_or_was_dropped_or_outlived() {
    let passed_over = |first: Run, pending| {
        let runs = [first, run("7.1", 40 * S, Some(41 * S))];
        let expected = wide(Expectation {
            pending: Duration::from_secs(pending),
            ..CALM
        });
        let answers = [answer("a", "7.1", 0, 42 * S)];
        check(&runs, &answers, &expected).passed_over.len()
    };
    assert_eq!(passed_over(run("1.0", S, Some(9 * S)), 30), 1);
    assert_eq!(passed_over(run("1.0", S, Some(9 * S)), 2), 0);
    for note in [Note::Panicked, Note::Dropped, Note::PastSwitch] {
        assert_eq!(passed_over(noted("1.0", S, 9 * S, note), 30), 0);
    }
}

#[test]
fn a_call_without_a_value_is_excused_by_what_its_process_wrote_of_it_and_by_nothing_else() {
    let departures = Periods::from_iter([(7, 5 * S..=5 * S + 10), (8, 20 * S..=20 * S)]);
    let runs = [
        noted("7.0", 0, 3 * S, Note::Panicked),
        noted("8.0", 4 * S, 30 * S, Note::Panicked),
    ];
    let expected = wide(Expectation {
        departures: &departures,
        ..CALM
    });
    let found = |answers: &[Answer]| {
        let found = check(&runs, answers, &expected);
        (found.departed, found.panicked, found.errors.len())
    };
    assert_eq!(found(&[without("dropped", 4 * S, 6 * S)]), (1, 0, 0));
    let late = |arrived| found(&[without("dropped", arrived, 7 * S)]);
    assert_eq!([late(5 * S + 10), late(5 * S + 11)], [(1, 0, 0), (0, 0, 1)]);
    assert_eq!(
        found(&[without("dropped", 19 * S, 21 * S)]),
        (0, 0, 1),
        "of 8"
    );
    let panics = without("panicked", 2 * S, 4 * S);
    assert_eq!(found(std::slice::from_ref(&panics)), (0, 1, 0));
    assert_eq!(
        found(&[panics.clone(), panics]),
        (0, 1, 1),
        "one caller's own"
    );
    assert_eq!(
        found(&[without("panicked", 29 * S, 31 * S)]),
        (0, 0, 1),
        "of 8"
    );
    assert_eq!(found(&[without("wait timeout", 2 * S, 6 * S)]), (0, 0, 1));
}

/// A value would be kept for half a minute, and longer.
#[test]
fn who_panicked_or_was_dropped_has_stored_nothing_that_would_be_kept() {
    let expected = Expectation {
        age: Duration::from_secs(60),
        ..CALM
    };
    let found = |first: Run| {
        let runs = [first, run("2.0", 3 * S, Some(4 * S))];
        check(&runs, &[], &expected).unexplained.len()
    };
    for note in [Note::Panicked, Note::Dropped] {
        assert_eq!(found(noted("1.0", S, 2 * S, note)), 0);
        assert_eq!(found(noted("1.0", S, 3 * S + 1, note)), 1, "beside it");
    }
    assert_eq!(found(run("1.0", S, Some(2 * S))), 1);
}
