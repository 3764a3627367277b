//! Pages read as tables, and the tests that they name as `path/file.rs::test`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The rows of all tables with that many cells, their heads left out.
pub(crate) fn rows(page: &str, cells: usize) -> Vec<Vec<String>> {
    let lines: Vec<_> = page.lines().collect();
    let is_head = |at: usize| {
        lines
            .get(at + 1)
            .is_some_and(|line| line.starts_with("|---"))
    };
    let mut rows = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.starts_with("| ") || is_head(at) {
            continue;
        }
        let line = line.replace("\\|", "/");
        let row: Vec<_> = line.trim_matches('|').split(" | ").collect();
        if row.len() == cells {
            rows.push(row.into_iter().map(|cell| cell.trim().to_owned()).collect());
        }
    }
    rows
}

/// What a text names as `path/file.rs::test`.
pub(crate) fn tests_in(text: &str) -> Vec<(String, String)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| !text.contains(char::is_whitespace))
        .filter_map(|text| text.split_once(".rs::"))
        .map(|(file, test)| (format!("{file}.rs"), test.to_owned()))
        .collect()
}

/// Those of them that do not exist.
pub(crate) fn missing(page: &str) -> Vec<String> {
    let named = tests_in(page);
    assert!(!named.is_empty());
    named
        .into_iter()
        .filter(|(file, test)| !tests_of(&root().join(file)).contains(test))
        .map(|(file, test)| format!("{file}::{test}"))
        .collect()
}

/// The names of the tests in a file; none where there is no such file. The conformance suite's are plain
/// functions with a number, which are run on each coordinator.
fn tests_of(path: &PathBuf) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let numbered = path.to_string_lossy().contains("/conformance/cases/");
    let mut tests = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let name = line
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.split('(').next());
        let Some(name) = name else { continue };
        if is_test || (numbered && name.starts_with('c')) {
            tests.insert(name.to_owned());
            is_test = false;
        }
    }
    tests
}

/// Every source file below a folder, as a path and its text.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((
                    path.to_string_lossy().into_owned(),
                    fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    files
}
