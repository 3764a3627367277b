//! The conformance suite: what every coordinator promises, case by numbered case.
//!
//! Each case runs on each coordinator in the same words, so that a service tested on the in-memory
//! one meets nothing new in production. `cargo test --test conformance c017` runs one case on all.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a case fails"
)]

mod asks;
mod cases;
mod memory;
mod redis;
mod world;
