//! What came of a chaos.

use std::collections::BTreeMap;

use serde::Serialize;

use super::faults::Fault;
use super::servers::Layout;
use crate::checker::{LONGEST_TAKEOVER_MS, Reason};

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
    /// Those of calls that went past the coordinator, as they were told to.
    pub bypassed_runs: u64,
    /// Calls whose callers went away.
    pub departed_calls: u64,
    /// Calls whose own body panicked.
    pub panicked_calls: u64,
    /// Runs beside a run of the same key, for a reason.
    pub explained_runs: u64,
    /// How many of them for which; of several, the weakest.
    pub explained_by: BTreeMap<Reason, u64>,
    /// Runs that began when nothing was being done to servers or ways.
    pub calm_runs: u64,
    /// Those of them that would have had no excuse beside another run.
    pub strict_runs: u64,
    /// Runs beside a run of the same key, without a reason.
    pub unexplained_runs: u64,
    /// Calls of processes that lived without an answer that can be read, and answers of others that cannot though they
    /// were written to their ends.
    pub lost_calls: u64,
    /// Calls that were answered with an error, though their body returned a value.
    pub errors: u64,
    /// Values of another key, or of no run.
    pub wrong_values: u64,
    /// Values that were too old when their caller arrived.
    pub stale_reads: u64,
    /// Answers of a run that began when another had begun and ended before their callers' eyes.
    pub passed_over: u64,
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
    /// Connections to servers that hold data, beyond those of each process's three clients.
    pub leaked_connections: u64,
    /// How long it took, after everything was healed, until a run was shared by all processes again.
    pub recovered_ms: u64,
    /// The most that a call took beside bodies of its key.
    pub max_added_ms: u64,
    /// Leaders killed during a run for which a caller of another process waited.
    pub missed_leaders: u64,
    /// Those of them behind which another ran.
    pub takeovers: u64,
    /// The median time from a leader's death to the next run of its key.
    pub takeover_p50_ms: u64,
    /// The longest.
    pub takeover_max_ms: u64,
    /// Some of what must not have been, in words.
    pub details: Vec<String>,
}

/// A second, and what bursts take on a busy machine.
const LONGEST_RECOVERY_MS: u64 = 5_400;

/// A lease that nobody gave back, a second to notice, and two deadlines, five times over.
const LONGEST_ADDED_MS: u64 = 3_000 + 1_000 + 5 * 500;

/// Of a hundred runs, so many must have had nothing to excuse them, and no more may have been excused by a busy machine
/// alone: otherwise nothing was proven.
const LEAST_STRICT: u64 = 1;
const MOST_BUSY: u64 = 25;

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
            ("answers of a later run", self.passed_over),
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
        let flights = self.executions - self.bypassed_runs;
        let share = |count: u64| count * 100 / flights.max(1);
        // Of the others a primary moves nearly all the time.
        let alone = matches!(self.topology, Layout::Standalone);
        if alone && share(self.strict_runs) < LEAST_STRICT {
            broken.push(format!("only {} runs without an excuse", self.strict_runs));
        }
        let by = |reason| self.explained_by.get(&reason).copied().unwrap_or(0);
        let busy = by(Reason::Standstill) + by(Reason::Busy);
        if share(busy) > MOST_BUSY {
            broken.push(format!("{busy} runs excused by a busy machine alone"));
        }
        let missed = self.missed_leaders - self.takeovers;
        if missed > 0 {
            broken.push(format!("{missed} dead leaders that nobody replaced"));
        }
        if self.takeover_max_ms > LONGEST_TAKEOVER_MS {
            broken.push(format!("a takeover after {} ms", self.takeover_max_ms));
        }
        if self.max_added_ms > LONGEST_ADDED_MS {
            broken.push(format!("a call took {} ms more", self.max_added_ms));
        }
        if self.recovered_ms > LONGEST_RECOVERY_MS {
            broken.push(format!("no recovery for {} ms", self.recovered_ms));
        }
        broken
    }
}
