//! Tables of cases: rows of Markdown whose last cell names the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of a table: their names, and their last cells.
pub fn rows(file: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
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

/// Rows with neither a test nor a reason, and tests that are not there.
pub fn problems(rows: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, cell) in rows {
        let (tests, snippets) = (tests_in(cell), snippets_in(cell));
        if tests.is_empty() && snippets.is_empty() && !cell.starts_with("No ") {
            problems.push(format!("{name} has neither a test nor a reason"));
        }
        for (file, test) in tests {
            if !tests_of(&root().join(&file)).contains(&test) {
                problems.push(format!("{name}: {file} has no test {test}"));
            }
        }
        for snippet in snippets {
            if !root().join(&snippet).is_file() {
                problems.push(format!("{name}: there is no {snippet}"));
            }
        }
    }
    problems
}

/// What a cell names as `path/file.rs::test`.
pub fn tests_in(cell: &str) -> Vec<(String, String)> {
    quoted(cell)
        .filter_map(|text| text.split_once(".rs::"))
        .map(|(file, test)| (format!("{file}.rs"), test.to_owned()))
        .collect()
}

/// What a cell names as `tests/ui/…/file.rs`: a file that must not compile.
fn snippets_in(cell: &str) -> Vec<String> {
    quoted(cell)
        .filter(|text| text.starts_with("tests/ui/"))
        .map(str::to_owned)
        .collect()
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of the tests in a file; none where there is no such file.
pub fn tests_of(path: &Path) -> BTreeSet<String> {
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

/// Every test in the files of a folder, as `(path/file.rs, test)`.
pub fn tests_below(folder: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let file = path.strip_prefix(root()).unwrap();
        let file = file.to_string_lossy().replace('\\', "/");
        found.extend(tests_of(&path).into_iter().map(|test| (file.clone(), test)));
    }
    found
}
