//! The promises of the protocol, on simulated pods that share one in-memory coordinator, on paused time.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fleet;

mod advice;
mod direct;
mod dropping;
mod ending;
mod giving_up;
mod hanging;
mod invalidation;
mod lanes;
mod limits;
mod losing;
mod lossy;
mod outcomes;
mod parked;
mod retaking;
mod retention;
mod self_bypass;
mod sharing;
mod silence;
mod surroundings;
mod switch;
mod trouble;
mod unheard;
mod waiting;
mod way;
