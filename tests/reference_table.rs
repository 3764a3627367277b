//! The table of known cases is complete, and every test that it names is there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

mod table;

const TABLE: &str = "tests/REFERENCE.md";

/// Row names: prefix, digits, the last number, and numbers that no row has.
type Group = (&'static str, usize, u32, &'static [u32]);
const GROUPS: [Group; 12] = [
    ("I-", 2, 18, &[]),
    ("X-", 2, 11, &[]),
    ("J-A", 2, 21, &[]),
    ("J-K", 2, 9, &[]),
    ("J-E", 2, 5, &[]),
    ("J-P", 2, 2, &[]),
    ("J-S", 2, 12, &[11]),
    ("J-T", 2, 6, &[3, 4]),
    ("J-I", 2, 11, &[]),
    ("J-D", 2, 5, &[]),
    ("D", 1, 12, &[]),
    ("F-", 2, 6, &[]),
];

#[test]
fn every_row_has_a_test_that_exists_or_a_reason() {
    let problems = table::problems(&table::rows(TABLE));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_row_is_missing_and_none_is_unknown() {
    let expected: BTreeSet<String> = GROUPS
        .into_iter()
        .flat_map(|(prefix, width, last, left_out)| {
            let numbers = (1..=last).filter(move |number| !left_out.contains(number));
            numbers.map(move |number| format!("{prefix}{number:0width$}"))
        })
        .collect();
    let found: BTreeSet<String> = table::rows(TABLE).into_keys().collect();
    assert_eq!(found, expected);
}

#[test]
fn every_test_of_the_cases_stands_in_a_row() {
    let rows = table::rows(TABLE);
    let named: BTreeSet<_> = rows
        .values()
        .flat_map(|cell| table::tests_in(cell))
        .collect();
    let tests = table::tests_below("tests/cases");
    for place in &tests {
        assert!(named.contains(place), "{place:?} stands in no row");
    }
    assert!(tests.len() > 50, "only {} tests found", tests.len());
}
