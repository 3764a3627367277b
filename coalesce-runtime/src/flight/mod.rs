//! Floor 4b: the drivers. They carry decisions out: who in this process asks, leads, waits and refreshes.

mod chase;
pub(crate) mod context;
pub(crate) mod core;
pub(crate) mod driver;
pub(crate) mod entry;
pub(crate) mod fold;
pub(crate) mod heartbeat;
pub(crate) mod journal;
pub(crate) mod leader;
pub(crate) mod look;
pub(crate) mod member;
pub(crate) mod refresh;
pub(crate) mod report;
pub(crate) mod seat;
pub(crate) mod settlement;
pub(crate) mod switchboard;
pub(crate) mod turn;
pub(crate) mod waiter;
