//! Nothing breaks it: each fault of `FAULTS.md`, done to real processes while they call, and every answer checked.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has done"
)]

mod bursts;
mod cast;
mod chaos;
mod cluster;
mod crashes;
mod network;
mod outage;
mod pods;
mod pubsub;
mod refusals;
mod scene;
mod sentinel;
mod states;
mod table;
mod takeovers;
mod waits;
