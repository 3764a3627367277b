//! Hands any text to the function of the macro crate that says what must hold for it: `attribute`.
//!
//! A macro crate exports nothing but macros, so its sources are taken in.
#![no_main]
#![allow(dead_code, reason = "this is a part of another crate")]

#[path = "../../coalesce-macros/src/analyze/mod.rs"]
mod analyze;
#[path = "../../coalesce-macros/src/attribute.rs"]
mod attribute;
#[path = "../../coalesce-macros/src/derive.rs"]
mod derive;
#[path = "../../coalesce-macros/src/diagnostics.rs"]
mod diagnostics;
#[path = "../../coalesce-macros/src/expand/mod.rs"]
mod expand;
#[path = "../../coalesce-macros/src/fuzzing.rs"]
mod fuzzing;
#[path = "../../coalesce-macros/src/names.rs"]
mod names;
#[path = "../../coalesce-macros/src/parse/mod.rs"]
mod parse;
#[path = "../../coalesce-macros/src/tokens.rs"]
mod tokens;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::attribute(data));
