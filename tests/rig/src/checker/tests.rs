//! The checker is told of made-up ledgers: each thing that may be wrong is found, and nothing else.

use super::*;

pub(super) const CALM: Expectation<'_> = Expectation {
    longest: Duration::from_millis(1),
    trouble: &[],
    aftermath: &[],
    busy: &[],
    killed: &[],
    stopped: Periods::NONE,
    in_vain: Moments::NONE,
    age: Duration::ZERO,
    passing: &[],
    pending: Duration::from_secs(30),
    switched: &[],
    ending: &[],
    departures: Periods::NONE,
};

pub(super) fn run(name: &str, started: u64, ended: Option<u64>) -> Run {
    Run {
        name: name.to_owned(),
        key: "a".to_owned(),
        started,
        ended,
        notes: Vec::new(),
    }
}

pub(super) fn answer(of_key: &str, run: &str, arrived: u64, answered: u64) -> Answer {
    Answer {
        key: "a".to_owned(),
        of_key: Some(of_key.to_owned()),
        run: Some(run.to_owned()),
        ended: Some(10),
        caller: None,
        pid: 7,
        error: None,
        arrived,
        answered,
    }
}

#[test]
fn runs_beside_one_another_need_a_reason() {
    let beside = [run("1.0", 0, Some(10)), run("2.0", 5, Some(15))];
    let behind = [run("1.0", 0, Some(10)), run("2.0", 10, Some(15))];
    let found = |runs: &[Run], expected| check(runs, &[], &expected).unexplained.len();
    let (before, during) = ([20..=30], [3..=4]);
    let trouble = |spans| Expectation {
        trouble: spans,
        ..CALM
    };
    assert_eq!(found(&beside, CALM), 1);
    assert_eq!(found(&behind, CALM), 0);
    assert_eq!(found(&beside, trouble(&before)), 1);
    assert_eq!(found(&beside, trouble(&during)), 0);
    let kept = Expectation {
        age: Duration::from_secs(60),
        ..CALM
    };
    assert_eq!(found(&behind, kept), 1);
    let passing = ["a".to_owned()];
    let passes = Expectation {
        passing: &passing,
        ..kept
    };
    assert_eq!(found(&behind, passes), 0);
}

#[test]
fn a_caller_before_whose_eyes_a_run_began_and_ended_is_not_answered_by_a_later_one() {
    const MS: u64 = 1_000;
    let runs = [
        run("1.0", 300 * MS, Some(320 * MS)),
        run("7.0", 330 * MS, Some(350 * MS)),
        run("2.0", 1_350 * MS, Some(1_351 * MS)),
        run("2.1", 1_450 * MS, Some(1_451 * MS)),
    ];
    let wide = Expectation {
        longest: Duration::from_secs(10),
        ..CALM
    };
    let passed_over = |name, arrived, expected| {
        let answers = [answer("a", name, arrived, 1_500 * MS)];
        check(&runs, &answers, &expected).passed_over.len()
    };
    // Its own process ran the body again.
    assert_eq!(passed_over("7.0", 10 * MS, wide), 1);
    assert_eq!(passed_over("1.0", 10 * MS, wide), 0, "the first");
    // It may have asked when the first had ended.
    assert_eq!(passed_over("7.0", 60 * MS, wide), 0);
    assert_eq!(passed_over("7.0", 310 * MS, wide), 0);
    // Another process did, and a poll may have been as late as that; or not.
    assert_eq!(passed_over("2.0", 10 * MS, wide), 0);
    assert_eq!(passed_over("2.1", 10 * MS, wide), 1);
    let trouble = [290 * MS..=340 * MS];
    let troubled = Expectation {
        trouble: &trouble,
        ..wide
    };
    assert_eq!(passed_over("7.0", 10 * MS, troubled), 0);
    let stopped = Periods::from_iter([(7, 10 * MS..=325 * MS)]);
    let stood = Expectation {
        stopped: &stopped,
        ..wide
    };
    assert_eq!(passed_over("7.0", 10 * MS, stood), 0);
    let kept = Expectation {
        age: Duration::from_secs(1),
        ..wide
    };
    assert_eq!(passed_over("7.0", 10 * MS, kept), 0);
}

#[test]
fn trouble_is_no_reason_within_one_process_and_death_is_one() {
    let folded = [run("1.0", 0, Some(10)), run("1.1", 5, Some(15))];
    let trouble = [0..=100];
    let expected = Expectation {
        trouble: &trouble,
        ..CALM
    };
    assert_eq!(check(&folded, &[], &expected).unexplained.len(), 1);
    let orphaned = [run("1.0", 0, None), run("2.0", 5, Some(15))];
    let killed = [(1, 4)];
    let expected = Expectation {
        killed: &killed,
        ..CALM
    };
    assert_eq!(check(&orphaned, &[], &CALM).unexplained.len(), 1);
    assert_eq!(check(&orphaned, &[], &expected).unexplained.len(), 0);
}

#[test]
fn answers_are_held_against_the_ledger() {
    let runs = [run("1.0", 0, Some(10))];
    let answers = [
        answer("a", "1.0", 5, 12),
        answer("b", "1.0", 5, 12),
        answer("a", "7.7", 5, 12),
        answer("a", "1.0", 11, 12),
        answer("a", "1.0", 5, 2_000),
    ];
    let found = check(&runs, &answers, &CALM);
    let counts = (found.wrong.len(), found.stale.len(), found.overlong.len());
    assert_eq!(counts, (2, 1, 1));
    assert_eq!((found.calls, found.longest_ms), (5, 1));
}

#[test]
fn a_kept_value_may_be_as_old_as_it_is_fresh_and_no_older() {
    let runs = [run("1.0", 0, Some(10))];
    let kept = Expectation {
        longest: Duration::from_secs(1),
        age: Duration::from_secs(1),
        ..CALM
    };
    let stale = |arrived| {
        let answers = [answer("a", "1.0", arrived, arrived + 1)];
        check(&runs, &answers, &kept).stale.len()
    };
    assert_eq!([1_000_000, 1_300_010, 1_300_011].map(stale), [0, 0, 1]);
    // The process stood still behind its body, and noticed late that it had ended.
    let stopped = Periods::from_iter([(1, 5..=1_400_000)]);
    let excused = Expectation {
        stopped: &stopped,
        ..kept
    };
    let late = [answer("a", "1.0", 1_400_000, 1_400_001)];
    assert_eq!(check(&runs, &late, &excused).stale.len(), 0);
}

#[test]
fn a_call_is_not_blamed_for_the_time_its_own_process_stood_still() {
    let runs = [run("1.0", 0, Some(10))];
    let stopped = Periods::from_iter([(7, 0..=90_000)]);
    let expected = Expectation {
        stopped: &stopped,
        ..CALM
    };
    let overlong = |pid| {
        let mut checker = Checker::new(&runs, expected);
        let own = answer("a", "1.0", 5, 90_100);
        checker.take(&Answer { pid, ..own });
        checker.findings().overlong.len()
    };
    assert_eq!((overlong(7), overlong(8)), (0, 1));
}

#[test]
fn what_a_call_took_beside_bodies_is_what_was_added() {
    let runs = [run("1.0", 0, Some(5_000)), run("2.0", 8_000, Some(20_000))];
    let wide = Expectation {
        longest: Duration::from_secs(1),
        ..CALM
    };
    // Two milliseconds of the first, three of nothing, twelve of the second, four until the answer.
    let answers = [answer("a", "2.0", 3_000, 24_000)];
    assert_eq!(check(&runs, &answers, &wide).added_ms, 7);
    // In trouble it waits for the second alone, unless the first is its own process's.
    let trouble = [24_000..=30_000];
    let in_trouble = Expectation {
        trouble: &trouble,
        ..wide
    };
    let added = |pid, answered| {
        let answers = [Answer {
            pid,
            ..answer("a", "2.0", 3_000, answered)
        }];
        check(&runs, &answers, &in_trouble).added_in_trouble_ms
    };
    assert_eq!([added(7, 24_000), added(1, 24_000)], [[9], [7]]);
    assert_eq!(added(7, 23_999), [0; 0], "it was answered before");
    // That an end is noticed late is no standstill that counts; one that is too long for a deadline is.
    let added = |span| {
        let stopped = Periods::from_iter([(2, span)]);
        let expected = Expectation {
            stopped: &stopped,
            ..wide
        };
        check(&runs, &answers, &expected).added_ms
    };
    assert_eq!([added(20_000..=20_050), added(20_000..=100_001)], [7, 0]);
}

#[test]
fn a_takeover_is_from_the_death_of_a_leader_that_somebody_waited_for_to_the_next_run_of_its_key() {
    let mut elsewhere = run("3.0", 6_000, None);
    elsewhere.key = "b".to_owned();
    // Whoever follows hears nothing of one that goes past the coordinator.
    let mut past = run("4.0", 7_000, Some(8_000));
    past.notes = vec![crate::ledger::Note::PastSwitch];
    let runs = [
        run("1.0", 0, None),
        elsewhere,
        past,
        run("2.0", 9_000, Some(10_000)),
    ];
    let killed = [(1, 5_000)];
    let expected = Expectation {
        killed: &killed,
        longest: Duration::from_secs(1),
        ..CALM
    };
    let found = |answers: &[Answer]| {
        let found = check(&runs, answers, &expected);
        (found.missed, found.takeovers)
    };
    assert_eq!(found(&[answer("a", "2.0", 5_000, 10_100)]), (1, vec![4]));
    // It came when the leader was dead, or was answered before, or by a run that was there already.
    assert_eq!(found(&[answer("a", "2.0", 5_001, 10_100)]), (0, vec![]));
    assert_eq!(found(&[answer("a", "2.0", 1_000, 5_000)]), (0, vec![]));
    assert_eq!(found(&[answer("a", "1.0", 1_000, 10_100)]), (0, vec![]));
    // The dead process's own.
    let own = Answer {
        pid: 1,
        ..answer("a", "2.0", 5_000, 10_100)
    };
    assert_eq!(found(&[own]), (0, vec![]));
}

#[test]
#[should_panic(expected = "1 takeovers that came too late, in ms: [8001]")]
fn a_takeover_that_comes_later_than_a_lease_and_five_seconds_is_a_failure() {
    let found = |next: u64| {
        let runs = [run("1.0", 0, None), run("2.0", next, Some(next + 10))];
        let expected = Expectation {
            killed: &[(1, 5_000)],
            longest: Duration::from_secs(10),
            ..CALM
        };
        let waits = Answer {
            ended: Some(next + 10),
            ..answer("a", "2.0", 1_000, next + 20)
        };
        check(&runs, &[waits], &expected)
    };
    found(8_000_000 + 5_000).assert_clean();
    found(8_001_000 + 5_000).assert_clean();
}

#[test]
fn a_leader_that_somebody_waited_for_and_nobody_replaced_is_missed() {
    let runs = [run("1.0", 0, None)];
    let killed = [(1, 5_000)];
    let expected = Expectation {
        killed: &killed,
        longest: Duration::from_secs(1),
        ..CALM
    };
    let in_vain = Answer {
        of_key: None,
        run: None,
        ..answer("a", "", 1_000, 90_000)
    };
    let found = check(&runs, &[in_vain], &expected);
    assert_eq!((found.missed, found.takeovers), (1, vec![]));
}
