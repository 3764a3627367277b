//! Known cases of single flight, with their figures: annotated functions in one process, on a private Redis.
//!
//! `tests/REFERENCE.md` says which case each test is about; `tests/rig` has them over several processes.

#![expect(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod arrivals;
mod clocks;
mod errors;
mod figures;
mod keys;
mod leaders;
mod privacy;
mod retention;
mod scene;
mod setup;
mod sharing;
mod switches;
mod trouble;
mod waiting;
