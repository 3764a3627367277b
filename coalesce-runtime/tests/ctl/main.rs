//! The operator's tool: the real program against a real Redis.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod keys;
mod scene;
mod switch;
#[cfg(feature = "tls")]
mod tls;
mod topologies;
mod trouble;
