//! The acceptance as a test: `stack check` plays it, and says what `cargo test` would say.
//!
//! It has no harness, because its cases need one stack, and none beside it: they measure times.
//! `cargo test -p product-service --test acceptance leader` plays one of them.

#![expect(clippy::print_stdout, reason = "it stands for a harness")]

use std::io;
use std::process::{Command, ExitCode};

const STACK: &str = env!("CARGO_BIN_EXE_stack");

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (options, filters): (Vec<_>, Vec<_>) = arguments
        .into_iter()
        .partition(|argument| argument.starts_with('-'));
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

fn cases() -> io::Result<Vec<String>> {
    let list = Command::new(STACK).args(["check", "--list"]).output()?;
    let list = String::from_utf8_lossy(&list.stdout);
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    Ok(list.lines().filter_map(name).collect())
}
