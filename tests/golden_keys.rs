//! Keys are the same bytes in every program and every build: held to a file that is checked in.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/keys/values.rs"]
mod values;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn keys_are_those_of_every_build_before() {
    let lines: Vec<_> = values::all()
        .into_iter()
        .map(|(written, tag)| format!("{written:<44} {tag}\n"))
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/keys.txt");
    if env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, lines.concat()).unwrap();
    }
    assert_eq!(lines.concat(), fs::read_to_string(path).unwrap());
}

#[test]
fn a_program_that_was_built_apart_makes_the_same_keys() {
    for _ in 0..2 {
        let output = Command::new(example("keys")).output();
        let output =
            output.expect("`cargo test` builds the example, `--test golden_keys` alone does not");
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = include_str!("goldens/keys.txt");
        assert_eq!(printed, expected);
    }
}

/// The program of an example, which cargo builds before it runs tests.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder
        .join("examples")
        .join(format!("{name}{}", env::consts::EXE_SUFFIX))
}
