//! The table of known cases is complete, and every test that it names is there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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
    let rows = rows();
    let mut problems = Vec::new();
    for (name, cell) in &rows {
        let tests = tests_in(cell);
        if tests.is_empty() && !cell.starts_with("No ") {
            problems.push(format!("{name} has neither a test nor a reason"));
        }
        for (file, test) in tests {
            if !tests_of(&root().join(&file)).contains(&test) {
                problems.push(format!("{name}: {file} has no test {test}"));
            }
        }
    }
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
    let found: BTreeSet<String> = rows().into_keys().collect();
    assert_eq!(found, expected);
}

#[test]
fn every_test_of_the_cases_stands_in_a_row() {
    let named: BTreeSet<_> = rows().values().flat_map(|cell| tests_in(cell)).collect();
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/cases")).unwrap() {
        let path = entry.unwrap().path();
        let file = path
            .strip_prefix(root())
            .unwrap()
            .to_string_lossy()
            .into_owned();
        for test in tests_of(&path) {
            count += 1;
            let place = (file.replace('\\', "/"), test);
            assert!(named.contains(&place), "{place:?} stands in no row");
        }
    }
    assert!(count > 50, "only {count} tests found");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of the table: their names, and their last cells.
fn rows() -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join("tests/REFERENCE.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, cell] = cells[..] else { continue };
        if name != "row" {
            let twice = rows.insert(name.to_owned(), cell.to_owned());
            assert_eq!(twice, None, "{name} stands there twice");
        }
    }
    rows
}

/// What a cell names as `path/file.rs::test`.
fn tests_in(cell: &str) -> Vec<(String, String)> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|text| text.split_once(".rs::"))
        .map(|(file, test)| (format!("{file}.rs"), test.to_owned()))
        .collect()
}

/// The names of the tests in a file; none where there is no such file.
fn tests_of(path: &PathBuf) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut tests = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        if let (true, Some(name)) = (is_test, name) {
            tests.insert(name.to_owned());
            is_test = false;
        }
    }
    tests
}
