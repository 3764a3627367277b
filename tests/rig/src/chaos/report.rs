//! What came of a chaos.

use std::collections::BTreeMap;

use serde::Serialize;

use super::faults::Fault;
use super::servers::Layout;

/// The figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Decided which faults came.
    pub seed: u64,
    /// Which servers coordinated.
    pub topology: Layout,
    /// How many faults of each kind were done.
    pub faults: BTreeMap<Fault, u64>,
    /// Calls answered.
    pub calls: u64,
    /// Runs of bodies.
    pub executions: u64,
    /// Runs beside a run of the same key, for a reason.
    pub explained_runs: u64,
    /// Runs beside a run of the same key, without a reason.
    pub unexplained_runs: u64,
    /// Calls that were never answered, by a process that lived.
    pub lost_calls: u64,
    /// Calls that were answered with an error, though their body returned a value.
    pub errors: u64,
    /// Values of another key, or of no run.
    pub wrong_values: u64,
    /// Values that were too old when their caller arrived.
    pub stale_reads: u64,
    /// Calls that took longer than they may.
    pub overlong_calls: u64,
    /// Local entries of keys that nobody asks for.
    pub leaked_entries: u64,
    /// Locks that outlived their lease, and keys that never expire.
    pub leaked_keys: u64,
    /// Subscriptions of no use to anybody, after they have lingered.
    pub leaked_subscriptions: u64,
    /// Tasks of processes, beyond those that there were before the first call.
    pub leaked_tasks: u64,
    /// Connections beyond the three of each process to any server that holds data.
    pub leaked_connections: u64,
    /// How long it took, after everything was healed, until a run was shared by all processes again.
    pub recovered_ms: u64,
    /// The most that a call took beside bodies of its key.
    pub max_added_ms: u64,
    /// Leaders killed during a run that another took over.
    pub takeovers: u64,
    /// The median time from a leader's death to the next run of its key.
    pub takeover_p50_ms: u64,
    /// The longest.
    pub takeover_max_ms: u64,
    /// Some of what must not have been, in words.
    pub details: Vec<String>,
}

/// A lease of three seconds, one more to notice its end, and one for a busy machine.
const LONGEST_TAKEOVER_MS: u64 = 5_000;

/// A second, and what bursts take on a busy machine.
const LONGEST_RECOVERY_MS: u64 = 5_400;

impl Report {
    /// All faults.
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }

    /// The promises that broke, in words.
    pub fn broken(&self) -> Vec<String> {
        let zeros = [
            ("runs without a reason", self.unexplained_runs),
            ("calls without an answer", self.lost_calls),
            ("errors", self.errors),
            ("wrong values", self.wrong_values),
            ("stale reads", self.stale_reads),
            ("overlong calls", self.overlong_calls),
            ("leaked entries", self.leaked_entries),
            ("leaked keys", self.leaked_keys),
            ("leaked subscriptions", self.leaked_subscriptions),
            ("leaked tasks", self.leaked_tasks),
            ("leaked connections", self.leaked_connections),
        ];
        let broken = zeros.iter().filter(|(_, count)| *count > 0);
        let mut broken: Vec<_> = broken
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        if self.takeover_max_ms > LONGEST_TAKEOVER_MS {
            broken.push(format!("a takeover after {} ms", self.takeover_max_ms));
        }
        if self.recovered_ms > LONGEST_RECOVERY_MS {
            broken.push(format!("no recovery for {} ms", self.recovered_ms));
        }
        broken
    }
}
