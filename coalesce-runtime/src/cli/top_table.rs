//! The table of `top`: two looks at several processes become one row for each namespace.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::report::printable;
use crate::books::snapshot::{NamespaceSnapshot, Snapshot};

/// What coalescing does in one namespace, over the processes that answered.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) namespace: String,
    /// Between the two looks.
    pub(crate) calls_per_second: f64,
    /// Between the two looks.
    pub(crate) executions_per_second: f64,
    /// The share of calls between the two looks that needed no body.
    pub(crate) saving: f64,
    /// Calls of a key while one outcome of it is shared, the highest of the processes.
    pub(crate) ratio: f64,
    pub(crate) waiting: u64,
    /// The highest of the processes, since they were started.
    pub(crate) wait_p99_seconds: f64,
    pub(crate) faults: u64,
    /// What the advisor of one process says.
    pub(crate) advice: String,
}

/// The rows, those with the most calls first. Who answered one of the looks only is left out of rates.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub(crate) fn rows(
    before: &BTreeMap<String, Snapshot>,
    now: &BTreeMap<String, Snapshot>,
) -> Vec<Row> {
    let names: BTreeSet<&String> = now.values().flat_map(|it| it.namespaces.keys()).collect();
    let row = |namespace: &String| {
        let mut row = Row {
            namespace: namespace.clone(),
            ..Row::default()
        };
        let (mut calls, mut executions) = (0, 0);
        for (url, snapshot) in now {
            let Some(page) = snapshot.namespaces.get(namespace) else {
                continue;
            };
            row.add(page);
            // A process that was started again begins with zero.
            let known = before
                .get(url)
                .filter(|it| it.up_seconds < snapshot.up_seconds);
            let Some(earlier) = known else { continue };
            let span = snapshot.up_seconds - earlier.up_seconds;
            let none = NamespaceSnapshot::default();
            let then = earlier.namespaces.get(namespace).unwrap_or(&none);
            let more = (
                page.calls.saturating_sub(then.calls),
                bodies(page).saturating_sub(bodies(then)),
            );
            (calls, executions) = (calls + more.0, executions + more.1);
            row.calls_per_second += more.0 as f64 / span;
            row.executions_per_second += more.1 as f64 / span;
        }
        if calls > 0 {
            row.saving = 1.0 - executions as f64 / calls as f64;
        }
        row
    };
    let mut rows: Vec<_> = names.into_iter().map(row).collect();
    rows.sort_by(|one, other| other.calls_per_second.total_cmp(&one.calls_per_second));
    rows
}

/// Bodies that ran: for flights, and of calls that were bypassed.
fn bodies(page: &NamespaceSnapshot) -> u64 {
    page.executions.total() + page.bypassed.total()
}

impl Row {
    fn add(&mut self, page: &NamespaceSnapshot) {
        self.waiting += page.calls_in_progress;
        self.faults += page.faults.total();
        self.ratio = self.ratio.max(page.advice.ratio);
        self.wait_p99_seconds = self.wait_p99_seconds.max(page.wait_seconds.p99);
        if self.advice.is_empty() {
            self.advice.clone_from(&page.advice.words);
        }
    }
}

/// The rows for people.
pub(crate) fn table(rows: &[Row], processes: usize) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "namespace",
        "calls/s",
        "bodies/s",
        "saved",
        "ratio",
        "waiting",
        "wait p99",
        "faults",
        "advice",
    ]);
    for row in rows {
        table.add_row([
            printable(&row.namespace),
            format!("{:.1}", row.calls_per_second),
            format!("{:.1}", row.executions_per_second),
            format!("{:.0} %", row.saving * 100.0),
            format!("{:.1}", row.ratio),
            row.waiting.to_string(),
            format!("{:.1} ms", row.wait_p99_seconds * 1_000.0),
            row.faults.to_string(),
            printable(&row.advice),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(7) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{processes} processes; saved: calls without a body of their own\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(up_seconds: f64, calls: u64, cold: u64) -> Snapshot {
        let mut page = NamespaceSnapshot {
            calls,
            ..NamespaceSnapshot::default()
        };
        page.executions.cold = cold;
        Snapshot {
            up_seconds,
            namespaces: BTreeMap::from([("shop::get".to_owned(), page)]),
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_summed_over_processes_and_a_restart_is_no_negative_rate() {
        let looks = |one, other| BTreeMap::from([("a".to_owned(), one), ("b".to_owned(), other)]);
        let before = looks(look(10.0, 100, 10), look(90.0, 5_000, 5_000));
        let now = looks(look(12.0, 300, 30), look(1.0, 7, 7));
        let rows = rows(&before, &now);
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!(
            (row.calls_per_second, row.executions_per_second),
            (100.0, 10.0)
        );
        assert!((row.saving - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        let row = Row {
            namespace: "a\x1b[2Jb".to_owned(),
            ..Row::default()
        };
        assert!(!table(&[row], 1).contains('\x1b'));
    }
}
