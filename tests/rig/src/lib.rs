//! The rig: private Redis servers, pods as child processes, and a ledger outside Redis.
//!
//! Everything it starts listens on loopback only and ends with the value that stands for it, also
//! when a test panics.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking, and so does what it is built with"
)]

mod checker;
mod folder;
mod ledger;
mod monitor;
mod pod;
mod process;
mod proxy;
mod resp;
mod server;
mod topology;

pub use checker::{Expectation, Findings, check};
pub use ledger::{Ledger, Run, now_micros};
pub use monitor::{Command, Monitor, Traffic};
pub use pod::{Answer, Burst, Fails, Order, Pod, PodState, Site, fleet};
pub use proxy::{Cut, Mode, Proxy, Way, holds};
pub use resp::{Connection, Value};
pub use server::RedisServer;
pub use topology::{Cluster, Sentinels, Topology, eventually};
