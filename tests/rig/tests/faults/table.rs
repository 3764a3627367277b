//! The table of faults in `FAULTS.md` is whole, and says no more than is done.

use std::collections::BTreeSet;
use std::path::Path;

const TABLE: &str = include_str!("../../FAULTS.md");

/// A row of the table.
struct Row {
    numbers: Vec<u32>,
    times: &'static str,
    tests: &'static str,
}

fn rows() -> Vec<Row> {
    let rows = TABLE.lines().filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix("| ")?.split(" | ").collect();
        let [numbers, _, _, times, tests] = cells[..] else {
            panic!("five cells were expected in {line}");
        };
        let numbers = numbers.split(", ").map(|number| number.parse().ok());
        let numbers = numbers.collect::<Option<Vec<_>>>();
        // The head has none.
        Some(Row {
            numbers: numbers?,
            times,
            tests,
        })
    });
    rows.collect()
}

#[test]
fn no_row_is_missing() {
    let there: BTreeSet<_> = rows().into_iter().flat_map(|row| row.numbers).collect();
    assert_eq!(there, (1..=52).collect());
}

#[test]
fn every_row_says_how_often_it_is_done_and_why_not_twenty_times() {
    for Row { numbers, times, .. } in rows() {
        let digits = times.trim_start_matches(|c: char| !c.is_ascii_digit());
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next();
        let often = digits.and_then(|digits| digits.parse::<u32>().ok());
        let often = often.unwrap_or_else(|| panic!("row {numbers:?} says no number: {times}"));
        let reason = times.split_once(": ").map_or("", |(_, reason)| reason);
        assert!(
            often >= 20 || !reason.is_empty(),
            "row {numbers:?}: {times}, and no reason"
        );
    }
}

#[test]
fn every_test_that_a_row_names_exists_and_is_run_unless_the_row_says_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    for Row { numbers, tests, .. } in rows() {
        let mut by_hand = false;
        for part in tests.split('`') {
            // It says so of the tests behind it.
            by_hand |= part.contains("by hand");
            let Some((file, test)) = part.split_once(".rs::") else {
                continue;
            };
            let path = root.join(format!("{file}.rs"));
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            let place = source.find(&format!("fn {test}("));
            let place = place.unwrap_or_else(|| panic!("{file}.rs has no {test}"));
            assert_eq!(
                is_ignored(&source[..place]),
                by_hand,
                "row {numbers:?}: {test}"
            );
            named += 1;
        }
    }
    assert!(named > 60, "{named} tests are named");
}

/// Whether the attributes at the end of this text say that a test is not run.
fn is_ignored(before: &str) -> bool {
    let lines = before.lines().rev().skip_while(|line| line.trim() == "");
    let mut attributes =
        lines.take_while(|line| !line.trim().is_empty() && !line.trim().ends_with('}'));
    attributes.any(|line| line.trim().starts_with("#[ignore"))
}
