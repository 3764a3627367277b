//! The acceptance as a test: `stack check` plays it, and says what `cargo test` would say.
//!
//! It has no harness, because its cases need one stack, and none beside it: they measure times.
//! `cargo test -p product-service --test acceptance leader` plays one of them.

#![expect(clippy::print_stdout, reason = "it stands for a harness")]

mod chosen;

use std::io;
use std::process::{Command, ExitCode};

use chosen::Chosen;

const STACK: &str = env!("CARGO_BIN_EXE_stack");

fn main() -> io::Result<ExitCode> {
    let chosen = Chosen::among(std::env::args_os()).unwrap_or_else(|wrong| wrong.exit());
    let mut names = cases()?;
    names.retain(|name| chosen.has(name));
    if chosen.are_listed {
        for name in names {
            println!("{name}: test");
        }
        return Ok(ExitCode::SUCCESS);
    }
    if names.is_empty() {
        println!("test result: ok. 0 passed; 0 failed");
        return Ok(ExitCode::SUCCESS);
    }
    let only = names.iter().flat_map(|name| ["--only", name]);
    let status = Command::new(STACK).arg("check").args(only).status()?;
    Ok(ExitCode::from(u8::from(!status.success())))
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
