//! The promises of the protocol, on simulated pods that share one in-memory coordinator, on paused time.

mod fleet;

mod invalidation;
mod outcomes;
mod retention;
mod sharing;
mod trouble;
