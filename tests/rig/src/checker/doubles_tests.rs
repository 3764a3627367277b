//! Doubles of made-up ledgers: what explains them, and what does not.

use super::tests::{CALM, run};
use super::*;

/// Why the second of two runs may have begun beside the first, which takes nine seconds.
fn reason(starts: [u64; 2], expected: Expectation<'_>) -> Option<Reason> {
    let [first, second] = starts;
    let runs = [
        run("1.0", first, Some(first + 9_000_000)),
        run("2.0", second, Some(second + 9_000_000)),
    ];
    let found = check(&runs, &[], &expected);
    assert_eq!(found.explained.len() + found.unexplained.len(), 1);
    found.explained.into_keys().next()
}

/// The same, where a process stood still and perhaps another asked in vain.
fn behind(
    stood: (u32, RangeInclusive<u64>),
    asked: &[(u32, u64)],
    starts: [u64; 2],
) -> Option<Reason> {
    let stopped = Periods::from_iter([stood]);
    let in_vain = asked.iter().copied().collect();
    let expected = Expectation {
        stopped: &stopped,
        in_vain: &in_vain,
        ..CALM
    };
    reason(starts, expected)
}

#[test]
fn a_process_that_stood_still_past_a_deadline_is_a_reason_and_a_shorter_stop_is_none() {
    let asked = [(2, 7_100_000)];
    let starts = [0, 7_200_000];
    let by = |stood| behind(stood, &asked, starts);
    assert_eq!(by((2, 7_000_000..=7_081_000)), Some(Reason::Standstill));
    assert_eq!(by((2, 7_000_000..=7_080_000)), None);
    // With the lock in hand, or while the body ran, it loses its lease, and nobody need have asked in vain.
    let lost = |stood, starts| behind((1, stood), &[], starts);
    let reason = Some(Reason::Standstill);
    assert_eq!(lost(1_000_000..=6_000_000, [0, 5_500_000]), reason);
    assert_eq!(lost(1_000_000..=2_000_001, [2_250_001, 5_500_000]), reason);
    assert_eq!(lost(1_000_000..=2_000_000, [0, 5_500_000]), None);
}

#[test]
fn who_goes_on_with_a_lease_that_is_over_is_a_reason_also_in_its_own_process_and_as_the_second() {
    let found = |stood: RangeInclusive<u64>, names: [&str; 2]| {
        let [first, second] = names;
        let runs = [
            run(first, 6_000_000, Some(9_000_000)),
            run(second, 6_005_000, Some(9_000_000)),
        ];
        let stopped = Periods::from_iter([(1, stood)]);
        let expected = Expectation {
            stopped: &stopped,
            ..CALM
        };
        let found = check(&runs, &[], &expected);
        found.explained.into_keys().next()
    };
    let (long, short) = (2_000_000..=5_999_000, 5_000_000..=5_999_000);
    let reason = Some(Reason::Standstill);
    assert_eq!(found(long.clone(), ["1.0", "1.1"]), reason);
    assert_eq!(found(long.clone(), ["2.0", "1.1"]), reason);
    let (some_beats, all_beats) = (4_099_000..=5_999_000, 4_098_999..=5_999_000);
    assert_eq!(found(some_beats, ["1.0", "1.1"]), None);
    assert_eq!(found(all_beats, ["1.0", "1.1"]), reason);
    let (some, all_of_it) = (3_249_000..=5_999_000, 3_248_999..=5_999_000);
    assert_eq!(found(some, ["2.0", "1.1"]), None, "it is still granted");
    assert_eq!(found(all_of_it, ["2.0", "1.1"]), reason);
    assert_eq!(found(short.clone(), ["1.0", "1.1"]), None);
    assert_eq!(found(short, ["2.0", "1.1"]), None);
    assert_eq!(
        found(long.clone(), ["2.0", "2.1"]),
        None,
        "another stood still"
    );
    // A quarter of a second behind it has no grant from before it.
    assert_eq!(found(1_000_000..=5_754_999, ["2.0", "1.1"]), None);
}

#[test]
fn a_standstill_explains_what_its_own_process_began_behind_a_question_in_vain_and_nothing_else() {
    let stood = |pid| (pid, 1_000_000..=1_200_000);
    let reason = Some(Reason::Standstill);
    // The process of the second had no answer just before, within two seconds of its standstill.
    let starts = |second| [900_000, second];
    let second = |asked, start| behind(stood(2), &[(2, asked)], starts(start));
    assert_eq!(second(3_000_000, 3_200_000), reason);
    assert_eq!(second(3_100_000, 3_200_001), None, "too late");
    assert_eq!(
        second(2_100_000, 3_100_001),
        None,
        "it had asked again since"
    );
    assert_eq!(
        behind(stood(2), &[], starts(1_300_000)),
        None,
        "it had answers"
    );
    assert_eq!(
        behind(stood(2), &[(1, 1_250_000)], starts(1_300_000)),
        None,
        "another had none"
    );
    assert_eq!(
        behind(stood(3), &[(2, 1_250_000)], starts(1_300_000)),
        None,
        "another stood still"
    );
    // The first began by itself, and the second beside it by right.
    let first = |asked| behind(stood(1), &[(1, asked)], [1_300_000, 8_000_000]);
    assert_eq!(first(1_250_000), reason);
    assert_eq!(first(1_350_000), None, "it had its lock by then");
}

#[test]
fn a_machine_that_was_too_busy_for_some_process_explains_what_others_asked_in_vain() {
    let told = [
        (3, 1_000_000..=1_080_001),
        (4, 1_100_000..=1_200_000),
        (4, 9_000_000..=9_080_000),
        (5, 20_000_000..=23_000_000),
    ];
    let ordered = [(5, 19_900_000..=22_900_000)];
    let busy = busy_times(&told, &ordered);
    assert_eq!(busy, [1_000_000..=3_200_000]);
    let by = |asked: &[(u32, u64)], second| {
        let in_vain = asked.iter().copied().collect();
        let expected = Expectation {
            busy: &busy,
            in_vain: &in_vain,
            ..CALM
        };
        reason([second - 10, second], expected)
    };
    assert_eq!(by(&[(2, 1_500_000)], 1_600_000), Some(Reason::Busy));
    assert_eq!(by(&[(3, 1_500_000)], 1_600_000), None, "they had answers");
    assert_eq!(by(&[(2, 3_200_000)], 3_200_011), None, "it is long over");
}

#[test]
fn behind_a_trouble_only_who_asked_in_vain_is_excused() {
    let (trouble, aftermath) = ([0..=1_000_000], [1_000_000..=3_000_000]);
    let by = |asked: &[(u32, u64)], starts| {
        let in_vain = asked.iter().copied().collect();
        let expected = Expectation {
            trouble: &trouble,
            aftermath: &aftermath,
            in_vain: &in_vain,
            ..CALM
        };
        reason(starts, expected)
    };
    // What was granted before the end of the trouble may have been lost in it, and begin a moment later.
    assert_eq!(by(&[], [1_250_000, 1_400_000]), Some(Reason::Trouble));
    let late = [1_250_001, 1_400_000];
    assert_eq!(by(&[], late), None);
    assert_eq!(by(&[(3, 1_300_000)], late), None);
    assert_eq!(by(&[(2, 1_300_000)], late), Some(Reason::Aftermath));
    assert_eq!(
        by(&[(1, 1_300_000)], late),
        Some(Reason::Aftermath),
        "no renewal"
    );
    assert_eq!(
        by(&[(2, 3_100_000)], [3_000_001, 3_200_000]),
        None,
        "it is long over"
    );
}

#[test]
fn a_run_is_explained_by_the_weakest_reason_it_needs_and_calm_ones_without_an_excuse_are_counted() {
    let pair = |names: [&str; 2], at| {
        let [first, second] = names;
        [
            run(first, at, Some(at + 9)),
            run(second, at + 5, Some(at + 7)),
        ]
    };
    let runs = [
        pair(["1.0", "2.0"], 100),
        pair(["1.1", "2.1"], 300_000),
        pair(["1.2", "2.2"], 400_000),
        pair(["1.3", "4.3"], 4_000_000),
        pair(["1.4", "2.4"], 9_000_000),
    ]
    .concat();
    let (trouble, aftermath) = ([50..=150], [150..=500_000]);
    let stopped = Periods::from_iter([(4, 3_000_000..=3_900_000)]);
    let in_vain = Moments::from_iter([(2, 390_000), (4, 3_950_000)]);
    let expected = Expectation {
        trouble: &trouble,
        aftermath: &aftermath,
        stopped: &stopped,
        in_vain: &in_vain,
        ..CALM
    };
    let found = check(&runs, &[], &expected);
    let by_each = [Reason::Trouble, Reason::Aftermath, Reason::Standstill];
    assert_eq!(found.explained, by_each.map(|reason| (reason, 1)).into());
    assert_eq!(found.unexplained.len(), 2);
    assert_eq!((found.runs, found.calm, found.strict), (10, 8, 6));
    // Trouble over and gone a moment before is excuse enough.
    let short = [8_999_000..=8_999_100, 20_000_000..=u64::MAX];
    let expected = Expectation {
        trouble: &short,
        ..CALM
    };
    let found = check(&runs, &[], &expected);
    assert_eq!((found.calm, found.strict), (10, 8));
}
