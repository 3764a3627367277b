//! Reports: what the tool has to say, for people and for programs, and how it ends.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::Trouble;

/// What came of a question.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// For people.
    pub(crate) text: String,
    /// For programs.
    pub(crate) json: Value,
    /// Whether there is something to look at: ends with 1.
    pub(crate) finding: bool,
}

impl Report {
    pub(crate) fn print(&self, json: bool) -> ExitCode {
        let code = u8::from(self.finding);
        if json && self.json != Value::Null {
            print(&format!("{:#}\n", self.json), code)
        } else {
            print(&self.text, code)
        }
    }
}

/// Prints, and ends with `code`. A reader that went away is no trouble.
pub(crate) fn print(text: &str, code: u8) -> ExitCode {
    let _ = write(text);
    ExitCode::from(code)
}

/// Prints. Fails when nobody reads any more.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Says why there is no report.
pub(crate) fn complain(trouble: &Trouble, json: bool) -> ExitCode {
    let (text, code) = match trouble {
        Trouble::Usage(text) => (text, 2),
        Trouble::Unreachable(text) => (text, 3),
    };
    if json {
        return print(&format!("{:#}\n", json!({ "error": text })), code);
    }
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "coalesce-ctl: {text}");
    ExitCode::from(code)
}

/// What somebody else wrote may neither move the cursor nor begin a line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).collect()
}

/// A span in two units at most: `1m 5s`.
pub(crate) fn span(span: Duration) -> String {
    let rounded = if span >= Duration::from_secs(10) {
        Duration::from_secs(span.as_secs())
    } else {
        Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    };
    humantime::format_duration(rounded).to_string()
}
