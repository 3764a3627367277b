//! What is written for users, operators and attackers names tests, and each of them exists; nothing is left out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod licences;
mod named;
mod runbooks;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use coalesce::{Coalescer, Counts};

use crate::named::{missing, root, rows, sources, tests_in};

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn every_promise_names_a_bound_and_tests_that_exist() {
    let rows = rows(&page("docs/promises.md"), 4);
    let names: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    let expected: Vec<_> = (1..=19).map(|number| format!("P{number}")).collect();
    assert_eq!(names, expected);
    for row in &rows {
        assert!(!row[2].is_empty(), "{} has no bound", row[0]);
        assert!(!tests_in(&row[3]).is_empty(), "{} names no test", row[0]);
    }
    assert_eq!(missing(&page("docs/promises.md")), Vec::<String>::new());
}

#[test]
fn every_threat_names_tests_that_exist() {
    let rows = rows(&page("SECURITY.md"), 3);
    assert!(rows.len() >= 16, "only {} threats", rows.len());
    for row in &rows {
        assert!(!tests_in(&row[2]).is_empty(), "no test for: {}", row[0]);
    }
    assert_eq!(missing(&page("SECURITY.md")), Vec::<String>::new());
}

#[test]
fn every_recommended_setting_names_tests_that_exist() {
    let rows = rows(&page("docs/operating.md"), 4);
    let settings = rows.iter().filter(|row| row[3].contains(".rs::"));
    assert!(settings.count() >= 8);
    assert_eq!(missing(&page("docs/operating.md")), Vec::<String>::new());
}

/// Each measured figure has the command that measures it again.
#[test]
fn every_figure_has_its_command() {
    let page = page("docs/promises.md");
    let measured = page.split("## Measured").nth(1).unwrap();
    let rows = rows(measured, 3);
    assert!(rows.len() >= 5);
    for row in rows {
        let command = row[2].trim_matches('`');
        let is_command = command.contains("cargo ") || command.starts_with("bash tests/");
        assert!(is_command, "no command for {}", row[0]);
        assert!(
            row[1].contains(char::is_numeric),
            "no figure for {}",
            row[0]
        );
    }
}

#[test]
fn every_line_that_is_logged_is_explained_to_operators() {
    let page = page("docs/operating.md");
    let mut lines = 0;
    for (path, text) in sources("coalesce-runtime/src") {
        let levels = ["tracing::warn!(", "tracing::error!(", "tracing::info!("];
        for level in levels {
            for call in text.split(level).skip(1) {
                // The text of an event is its only literal with a space in it.
                let mut literals = call
                    .split(';')
                    .next()
                    .unwrap()
                    .split('"')
                    .skip(1)
                    .step_by(2);
                let line = literals.find(|literal| literal.contains(' ')).unwrap();
                let line = line.split(" (").next().unwrap();
                assert!(page.contains(line), "{path} logs, unexplained: {line}");
                lines += 1;
            }
        }
    }
    assert!(lines >= 6, "only {lines} lines found");
}

#[tokio::test]
async fn every_count_and_every_sign_of_health_is_explained_to_operators() {
    let page = page("docs/operating.md");
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    let shown = format!("{:?} {:?}", Counts::default(), coalescer.health());
    let fields: BTreeSet<_> = shown
        .split([' ', '{', '}', ','])
        .filter_map(|word| word.strip_suffix(':'))
        .collect();
    assert!(fields.len() > 15, "{fields:?}");
    // Those that say how well it goes are not alarms.
    let fine = [
        "fresh",
        "stale",
        "led",
        "followed",
        "executions",
        "refreshes",
        "last_fault",
        "backend",
        "in_flight",
        "waiters",
    ];
    for field in fields.iter().filter(|field| !fine.contains(*field)) {
        let alarm = [
            format!("| `{field}` grows"),
            format!("| `health().{field}`"),
        ];
        assert!(
            alarm.iter().any(|alarm| page.contains(alarm)),
            "nothing about {field}"
        );
    }
}

/// Scripts are constants: their texts are taken in when the library is compiled, and nothing is put into them.
#[test]
fn no_script_is_put_together() {
    let sources = sources("coalesce-runtime/src/backend/redis");
    let (_, script) = sources
        .iter()
        .find(|(path, _)| path.ends_with("/script.rs"))
        .unwrap();
    assert!(script.contains("source: &'static str") && script.contains("include_str!"));
    for (path, text) in &sources {
        let code = text.split("#[cfg(test)]").next().unwrap();
        assert!(
            !code.contains("redis.call") && !code.contains("Box::leak"),
            "{path}"
        );
    }
    let folder = root().join("coalesce-runtime/src/backend/redis/scripts");
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("loadstring") && !text.contains("load("));
    }
}

#[test]
fn no_unsafe_code_is_allowed_and_every_dependency_has_a_reason() {
    assert!(page("Cargo.toml").contains("unsafe_code = \"forbid\""));
    let reasons = page("ARCHITECTURE.md");
    let reasons = reasons.split("## Dependencies").nth(1).unwrap();
    for package in ["coalesce-runtime", "coalesce-macros"] {
        let manifest = page(&format!("{package}/Cargo.toml"));
        assert!(manifest.contains("[lints]\nworkspace = true"), "{package}");
        let behind = manifest.split("\n[dependencies]\n").nth(1).unwrap();
        let names = behind
            .lines()
            .take_while(|line| !line.starts_with('['))
            // Those are for users' own types, and each is a feature of that name.
            .filter(|line| !line.contains("optional = true"))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| !name.is_empty() && !name.starts_with('#'));
        for name in names {
            assert!(
                reasons.contains(&format!("`{name}`")),
                "{package}: why {name}?"
            );
        }
    }
}

/// The pages are part of the crate's documentation, and are packaged with it.
#[test]
fn the_pages_are_shown_to_users() {
    let face = page("src/lib.rs");
    for name in [
        "docs/promises.md",
        "docs/operating.md",
        "docs/runbooks.md",
        "docs/clocks.md",
    ] {
        assert!(
            face.contains(&format!("include_str!(\"../{name}\")")),
            "{name}"
        );
        assert!(page("README.md").contains(&format!("]({name})")), "{name}");
    }
    assert!(page("README.md").contains("](SECURITY.md)"));
    assert!(Path::new(&root().join("SECURITY.md")).is_file());
}
