//! Totals of the fault tests, added up by whoever runs them all.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use crate::chaos::Report;
use crate::checker::{Findings, Reason};
use crate::leaks::Leaks;

/// The file to which they are appended, when there is one.
const FILE: &str = "RIG_TOTALS";

/// What one test has done and found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Faults done.
    pub faults: u64,
    /// Calls answered.
    pub calls: u64,
    /// Values of another key, or too old.
    pub wrong: u64,
    /// Calls without a value, or too late.
    pub lost: u64,
    /// Runs without a reason, and answers of a run later than need be.
    pub unexplained: u64,
    /// Local entries, keys, subscriptions, tasks and connections that stayed.
    pub leaked: u64,
}

impl Totals {
    /// Of a scene.
    pub fn of(faults: u64, findings: &Findings, leaks: &Leaks) -> Self {
        Self {
            faults,
            calls: findings.calls as u64,
            wrong: (findings.wrong.len() + findings.stale.len()) as u64,
            lost: (findings.errors.len() + findings.overlong.len()) as u64,
            unexplained: (findings.unexplained.len() + findings.passed_over.len()) as u64,
            leaked: leaks.total(),
        }
    }

    /// Of a chaos.
    pub fn of_chaos(report: &Report) -> Self {
        Self {
            faults: report.all_faults(),
            calls: report.calls,
            wrong: report.wrong_values + report.stale_reads,
            lost: report.lost_calls + report.errors + report.overlong_calls,
            unexplained: report.unexplained_runs + report.passed_over,
            leaked: report.leaked_entries
                + report.leaked_keys
                + report.leaked_subscriptions
                + report.leaked_tasks
                + report.leaked_connections,
        }
    }
}

/// Appends a line of numbers.
pub fn note_totals(totals: &Totals) {
    let Totals {
        faults,
        calls,
        wrong,
        lost,
        unexplained,
        leaked,
    } = totals;
    append(&format!(
        "{faults} {calls} {wrong} {lost} {unexplained} {leaked}\n"
    ));
}

/// Appends a line that says how many runs there were, how many of them nothing would have excused beside another, and how
/// many were excused beside one by a fault that was over, and by a machine that was too busy.
pub fn note_runs(runs: u64, strict: u64, explained: &BTreeMap<Reason, u64>) {
    let by = |reasons: &[Reason]| -> u64 {
        let counts = reasons.iter().filter_map(|reason| explained.get(reason));
        counts.sum()
    };
    let over = by(&[Reason::Aftermath]);
    let busy = by(&[Reason::Standstill, Reason::Busy]);
    append(&format!("runs {runs} {strict} {over} {busy}\n"));
}

/// Appends a line that says after how long a fleet shared its runs again.
pub fn note_recovery(took: Duration) {
    append(&format!("recovered {}\n", took.as_millis()));
}

/// Appends a line that says how often something took how long, in milliseconds or microseconds, as the name says.
pub fn note_spread(name: &str, took: impl IntoIterator<Item = u64>) {
    let mut counts = BTreeMap::<_, u64>::new();
    for took in took {
        *counts.entry(took).or_default() += 1;
    }
    let counts = counts
        .iter()
        .map(|(took, count)| format!(" {took}:{count}"));
    append(&format!("{name}{}\n", counts.collect::<String>()));
}

fn append(line: &str) {
    let Some(path) = std::env::var_os(FILE) else {
        return;
    };
    let file = OpenOptions::new().append(true).create(true).open(path);
    // One write of an appending file is not torn.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("a file for totals, and room in it");
}
