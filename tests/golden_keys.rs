//! Keys are the same bytes in every program and every build: held to a file that is checked in.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/keys/foreign.rs"]
mod foreign;
#[path = "../examples/keys/values.rs"]
mod values;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Whether all of `foreign_keys.txt` is there in this build.
const EVERY_FEATURE: bool = cfg!(all(
    feature = "bytes",
    feature = "chrono",
    feature = "rust_decimal",
    feature = "time",
    feature = "url",
    feature = "uuid"
));

#[test]
fn keys_are_those_of_every_build_before() {
    assert_golden("keys.txt", &printed(values::all()));
}

#[test]
fn keys_of_foreign_types_are_those_of_every_build_before() {
    let printed = printed(foreign::all());
    if EVERY_FEATURE {
        assert_golden("foreign_keys.txt", &printed);
    }
    let golden = include_str!("goldens/foreign_keys.txt");
    for line in printed.lines() {
        assert!(golden.lines().any(|each| each == line), "{line}");
    }
}

#[test]
fn a_program_that_was_built_apart_makes_the_same_keys() {
    for _ in 0..2 {
        let output = Command::new(example("keys")).output();
        let output =
            output.expect("`cargo test` builds the example, `--test golden_keys` alone does not");
        let said = String::from_utf8(output.stdout).unwrap();
        let foreign = said.strip_prefix(include_str!("goldens/keys.txt")).unwrap();
        assert_eq!(foreign, printed(foreign::all()));
    }
}

fn printed(keys: Vec<(&'static str, String)>) -> String {
    let lines = keys.into_iter();
    let lines = lines.map(|(written, tag)| format!("{written:<44} {tag}\n"));
    lines.collect()
}

fn assert_golden(name: &str, lines: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/goldens")
        .join(name);
    if env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, lines).unwrap();
    }
    assert_eq!(lines, fs::read_to_string(path).unwrap());
}

/// The program of an example, which cargo builds before it runs tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX))
}
