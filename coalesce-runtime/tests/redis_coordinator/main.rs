//! The Redis coordinator against real servers: what is specific to Redis, and what it does in trouble.
//!
//! Each test starts its own `redis-server` on a free loopback port.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod cluster;
#[cfg(feature = "metrics")]
mod counted;
mod elsewhere;
mod handing_over;
mod health;
mod listening;
mod lost;
mod moving;
mod oracle;
mod reading;
#[cfg(feature = "metrics")]
#[path = "../recorder/mod.rs"]
mod recorder;
mod refusals;
mod scene;
mod scripts;
mod starting;
mod switch;
mod trouble;
