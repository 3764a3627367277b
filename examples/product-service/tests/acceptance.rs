//! The acceptance as a test: `stack check` plays it, and says what `cargo test` would say.
//!
//! It has no harness, because its cases need one stack, and none beside it: they measure times.
//! `cargo test -p product-service --test acceptance leader` plays one of them.

#![expect(clippy::print_stdout, reason = "it stands for a harness")]

use std::io;
use std::process::{Command, ExitCode};

const STACK: &str = env!("CARGO_BIN_EXE_stack");

/// The options of a harness whose value is a word of its own.
const WITH_VALUE: [&str; 6] = [
    "--color",
    "--format",
    "--logfile",
    "--skip",
    "--test-threads",
    "-Z",
];

fn main() -> io::Result<ExitCode> {
    let (options, filters) = sorted(std::env::args().skip(1));
    let names = cases()?;
    let wanted =
        |name: &&String| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    let wanted: Vec<_> = names.iter().filter(wanted).collect();
    let asked_for_others = options.iter().any(|option| option == "--ignored");
    if options.iter().any(|option| option == "--list") {
        for name in wanted {
            println!("{name}: test");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if wanted.is_empty() || asked_for_others {
        println!("test result: ok. 0 passed; 0 failed");
        return Ok(ExitCode::SUCCESS);
    }
    let only = wanted.iter().flat_map(|name| ["--only", name]);
    let status = Command::new(STACK).arg("check").args(only).status()?;
    Ok(ExitCode::from(u8::from(!status.success())))
}

/// Options and filters. What follows an option that wants a value is neither.
fn sorted(arguments: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut options, mut filters) = (Vec::new(), Vec::new());
    let mut is_value = false;
    for argument in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = WITH_VALUE.contains(&argument.as_str());
        let to = if argument.starts_with('-') {
            &mut options
        } else {
            &mut filters
        };
        to.push(argument);
    }
    (options, filters)
}

fn cases() -> io::Result<Vec<String>> {
    let list = Command::new(STACK).args(["check", "--list"]).output()?;
    let said = String::from_utf8_lossy(&list.stdout);
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let names: Vec<_> = said.lines().filter_map(name).collect();
    if !list.status.success() || names.is_empty() {
        let why = String::from_utf8_lossy(&list.stderr);
        return Err(io::Error::other(format!("`stack` names no case: {why}")));
    }
    Ok(names)
}
