//! Texts of options, of the kill switch, and of namespaces that others have announced.

use std::time::Duration;

use crate::config::{interpolation, quantity};
use crate::words::clock::ServerTime;
use crate::words::known::{is_about, said_of_function, said_of_namespace};
use crate::words::policy::Clocks;
use crate::words::switch::{Position, Scope};

/// What a name is set to.
const VALUE: &str = "7s";

/// Placeholders and quantities: an answer or a sentence, in a time and a space that grow with the text only.
pub fn option(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lookup = |name: &str| name.starts_with('S').then(|| VALUE.to_owned());
    match interpolation::resolve(text, &lookup) {
        Ok(resolved) => {
            assert!(resolved.len() <= text.len().max(1) * VALUE.len());
            assert!(text.contains('$') || resolved == text);
        }
        Err(sentence) => assert!(!sentence.is_empty()),
    }
    if let Ok(duration) = quantity::duration(text) {
        a_duration_is_itself_again(duration);
        a_clock_is_bounded(duration);
    }
    if let Ok(size) = quantity::size(text) {
        assert!((1..=511 * 1024 * 1024).contains(&size));
        assert_eq!(quantity::size(&size.to_string()), Ok(size));
    }
    if let Ok(truth) = quantity::switch(text) {
        assert_eq!(quantity::switch(&truth.to_string()), Ok(truth));
    }
}

fn a_duration_is_itself_again(duration: Duration) {
    let written = humantime::format_duration(duration).to_string();
    assert_eq!(quantity::duration(&written), Ok(duration), "{written}");
}

/// What passes as a clock can be added to any moment.
fn a_clock_is_bounded(duration: Duration) {
    let wait = duration.checked_add(Duration::from_millis(1));
    if let Ok(clocks) = Clocks::new(duration, None, duration, wait) {
        assert!(clocks.wait().is_none_or(|wait| wait <= Clocks::MAX));
        assert!(clocks.stale() <= Clocks::MAX && clocks.pending() <= Clocks::MAX);
    }
}

/// A position is read as it was written; a namespace is never mistaken for everything.
pub fn switch(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(position) = Position::decode(&text) {
        assert_eq!(Position::decode(&position.encode()), Some(position));
    }
    let (author, reason) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let until = data.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    let position = Position {
        // Zero means no end.
        until: until
            .filter(|micros| *micros > 0)
            .map(ServerTime::from_micros),
        ..Position::off().because(author, reason)
    };
    assert_eq!(Position::decode(&position.encode()), Some(position));
    assert_ne!(Scope::namespace(&*text).field(), Scope::Everything.field());
}

/// What a process says is about its own namespace and no other; what anybody says is about something or nothing.
pub fn known(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let names = [&*text, one, other];
    for name in names {
        let said = said_of_namespace(name);
        for another in names {
            assert_eq!(is_about(&said, another), name == another, "{name:?}");
        }
        if is_about(&text, name) {
            let (begin, end) = text.split_once("::~::").unwrap_or((&text, &text));
            assert!(said.starts_with(begin) && said.ends_with(end), "{name:?}");
        }
    }
    a_function_is_known_by_its_path(one, other);
}

/// Modules and functions are words between pairs of colons.
fn a_function_is_known_by_its_path(module: &str, function: &str) {
    let (module, function) = (module.replace(':', ""), function.replace(':', ""));
    let said = said_of_function(&module, &function);
    for path in [
        format!("{module}::{function}"),
        format!("{module}::Service<T>::{function}"),
    ] {
        // Of a long path a digest is left, which says nothing of its parts.
        if !said_of_namespace(&path).contains("~#") {
            assert!(is_about(&said, &path), "{said:?} {path:?}");
        }
    }
}
