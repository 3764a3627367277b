//! The rig: private Redis servers, pods as child processes, and a ledger outside Redis.
//!
//! Everything it starts listens on loopback only and ends with the value that stands for it, also
//! when a test panics.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking, and so does what it is built with"
)]

mod books;
pub mod chaos;
mod checker;
mod fleet;
mod folder;
mod leaks;
mod ledger;
mod listeners;
mod monitor;
mod orders;
mod pod;
mod process;
mod proxy;
mod resp;
mod server;
mod service;
mod topology;
mod totals;

pub use books::unbalanced;
pub use checker::{Checker, Expectation, Findings, Moments, Periods, Reason, busy_times, check};
pub use fleet::Fleet;
pub use leaks::{Leaks, Patience};
pub use ledger::{Ledger, Note, Run, now_micros};
pub use listeners::hear_everything;
pub use monitor::{Command, Monitor, Traffic};
pub use orders::{Affliction, Answer, Burst, Fails, Order, Page, PodState, Site, Tally};
pub use pod::{Pod, fleet};
pub use process::free_port;
pub use proxy::{Cut, Mode, Proxy, Way, holds};
pub use resp::{Connection, Value};
pub use server::RedisServer;
pub use service::serve;
pub use topology::{Cluster, Sentinels, Topology, eventually};
pub use totals::{Totals, note_recovery, note_runs, note_spread, note_totals};
