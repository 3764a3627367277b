//! `tests/MACRO_INPUTS.md` is complete, names tests that are there, and counts what compiles.

use std::collections::BTreeSet;

#[path = "../table/mod.rs"]
mod shared;

const TABLE: &str = "tests/MACRO_INPUTS.md";

#[test]
fn every_row_has_a_test_that_exists_or_a_reason() {
    let problems = shared::problems(&shared::rows(TABLE));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_row_is_missing_and_every_test_stands_in_one() {
    let rows = shared::rows(TABLE);
    let expected: BTreeSet<_> = (1..=66).map(|number| format!("M{number}")).collect();
    assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), expected);
    let named: BTreeSet<_> = rows
        .values()
        .flat_map(|cell| shared::tests_in(cell))
        .collect();
    for place in shared::tests_below("tests/macro_inputs") {
        let of_a_row = place.1.starts_with('m');
        assert!(
            !of_a_row || named.contains(&place),
            "{place:?} stands in no row"
        );
    }
}

/// Each function of these tests is an input that has compiled: the program knows them all.
#[test]
fn the_number_of_inputs_that_compile_is_the_one_that_is_stated() {
    let compiled = coalesce::call_sites().len();
    let text = std::fs::read_to_string(shared::root().join(TABLE)).unwrap();
    let stated = format!("**{compiled} ordinary inputs compile**");
    assert!(text.contains(&stated), "{TABLE} does not say: {stated}");
    assert!(compiled >= 66, "{compiled}");
}
