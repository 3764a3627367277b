//! The table of faults in `FAULTS.md` names tests, and each of them exists.

use std::path::Path;

const TABLE: &str = include_str!("../../FAULTS.md");

#[test]
fn every_test_that_the_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named: Vec<_> = TABLE
        .split('`')
        .filter(|part| !part.contains(char::is_whitespace))
        .filter_map(|part| part.split_once(".rs::"))
        .collect();
    assert!(named.len() > 30, "{} tests are named", named.len());
    for (file, test) in named {
        let path = root.join(format!("{file}.rs"));
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let found = text.contains(&format!("fn {test}("));
        assert!(found, "{file}.rs has no {test}");
    }
}
