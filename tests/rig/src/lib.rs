//! The rig: private Redis servers, pods as child processes, and a ledger outside Redis.
//!
//! Everything it starts listens on loopback only and ends with the value that stands for it, also
//! when a test panics.

mod ledger;
mod pod;
mod resp;
mod server;

pub use ledger::{Ledger, Run, now_micros};
pub use pod::{Answer, Burst, Fails, Order, Pod, PodState, Site, fleet};
pub use resp::{Connection, Value};
pub use server::RedisServer;
