//! Snapshots: what the books say at one moment, in a form that can be shown, stored and sent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::advisor::Advice;
use crate::ports::event::{
    BypassReasons, CallOutcomes, Causes, Endings, Faults, Incidents, Operations,
};
use crate::ports::health::BreakerState;

/// What one coalescer has counted and measured since it was built.
///
/// It holds names of namespaces and numbers, and nothing of arguments, headers or values. New fields may
/// come; as JSON, what is missing reads as zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The kind of coordinator: `"redis"` or `"memory"`.
    pub backend: String,
    /// Seconds since the coalescer was built.
    pub up_seconds: f64,
    /// What is going on right now.
    pub gauges: Gauges,
    /// Each namespace that has been called.
    pub namespaces: BTreeMap<String, NamespaceSnapshot>,
    /// The sum of the namespaces beyond the first 512, when there are so many.
    pub others: Option<NamespaceSnapshot>,
    /// What belongs to no call site: renewals of leases and the kill switch.
    pub process: NamespaceSnapshot,
}

/// What is going on in this process right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Gauges {
    /// Units of work in progress: keys that somebody asks for, waits for or runs.
    pub flights: u64,
    /// Calls in progress, those that wait and those that run their body.
    pub calls: u64,
    /// Callers that wait for work in progress, those whose body runs included; those past the attribute are not.
    pub waiters: u64,
    /// Bodies in progress.
    pub executions: u64,
    /// Channels subscribed to, lingering ones included.
    pub subscriptions: u64,
    /// All connections are up. Always so in memory, as for the next.
    pub connected: bool,
    /// Followers are told when a flight ends. When not, they find out by polling.
    pub subscribed: bool,
    /// Whether questions are asked at all: `closed` is well, `half_open` on trial, and `open` for a moment not.
    pub breaker: BreakerState,
}

/// What has been counted and measured in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NamespaceSnapshot {
    /// Calls that came in: the sum of the outcomes and of those in progress.
    pub calls: u64,
    /// Calls that have not ended.
    pub calls_in_progress: u64,
    /// How calls ended.
    pub outcomes: CallOutcomes,
    /// Why calls ran as if the attribute were not there, those included that were cancelled then, or had timed out
    /// before.
    pub bypassed: BypassReasons,
    /// Bodies started, by cause. Those of bypassed calls are not among them.
    pub executions: Causes,
    /// Bodies that have not ended.
    pub executions_in_progress: u64,
    /// How bodies ended.
    pub endings: Endings,
    /// What else happened.
    pub incidents: Incidents,
    /// Questions to the coordinator without a usable answer, by kind.
    pub faults: Faults,
    /// Questions to the coordinator that were answered.
    pub round_trips: Operations,
    /// How long a stored value took, fresh or stale.
    pub hit_seconds: Distribution,
    /// How long followers waited for their outcome.
    pub wait_seconds: Distribution,
    /// How long bodies ran.
    pub execution_seconds: Distribution,
    /// How long the coordinator took to answer.
    pub round_trip_seconds: Distribution,
    /// How big outcomes were.
    pub payload_bytes: Distribution,
    /// How long calls took that ran their body.
    pub led_seconds: Distribution,
    /// How many calls of how many keys came lately.
    pub traffic: Traffic,
    /// Whether coalescing earns its round trips here.
    pub advice: Advice,
}

/// How many calls of how many keys came to this process in a minute or so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Traffic {
    /// How long that was.
    pub seconds: f64,
    /// Calls that came.
    pub calls: u64,
    /// Distinct keys among them, within about 3 %.
    pub keys: f64,
    /// How often a key was called in a second, on average.
    pub calls_per_key_and_second: f64,
}

/// How a measured value is distributed. Quantiles are right within a sixteenth of their value; all are
/// 0 when nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Distribution {
    /// How many values there were.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Half of them were below.
    pub p50: f64,
    /// 90 % of them were below.
    pub p90: f64,
    /// 99 % of them were below.
    pub p99: f64,
    /// The highest.
    pub max: f64,
}

impl Distribution {
    /// The average; 0 when nothing was measured.
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum / super::measure::to_f64(self.count)
    }
}

/// What a coalescer has counted since it was built, over all namespaces: the short form of a
/// [`Snapshot`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Counts {
    /// Calls answered by a fresh stored value.
    pub fresh: u64,
    /// Calls answered by a stale stored value.
    pub stale: u64,
    /// Calls answered by their own body.
    pub led: u64,
    /// Calls answered by a body that another call ran, here or in another process.
    pub followed: u64,
    /// Calls that ran as if the attribute were not there.
    pub bypassed: u64,
    /// Those of them that were one too many: as much was in progress in this process as may be.
    pub capped: u64,
    /// Calls that waited for `wait_timeout`, and got that error or ran their body after all.
    pub timed_out: u64,
    /// Calls that got an error of ours other than a wait timeout.
    pub failed: u64,
    /// Calls that were never answered: dropped, or panicked.
    pub cancelled: u64,
    /// Bodies started: for a flight, a refresh, or for this process alone.
    pub executions: u64,
    /// Bodies started for this process alone: a marker, a timeout, or no coordinator.
    pub solo_runs: u64,
    /// Flights led after another leader's lease had ended or it had given up.
    pub takeovers: u64,
    /// Refreshes started.
    pub refreshes: u64,
    /// Refreshes that ended without a value.
    pub refresh_failures: u64,
    /// Outcomes refused because the flight was no longer the key's.
    pub fenced: u64,
    /// Values above `max_payload`, more than 128 levels deep, or not encodable.
    pub too_large: u64,
    /// Stored bytes that could not be read.
    pub undecodable: u64,
    /// Questions about keys to the coordinator without a usable answer.
    pub faults: u64,
}
