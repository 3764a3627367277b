//! The service against a real PostgreSQL and a real Redis, both private to a test.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so does what it is built with"
)]

mod draining;
mod failures;
mod fleet;
mod limiting;
mod postgres;
mod process;
mod sharing;
