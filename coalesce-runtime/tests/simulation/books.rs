//! The books of a pod beside the ledger: every call ended once, and what was counted is what happened.

use std::collections::BTreeMap;

use coalesce_runtime::{NamespaceSnapshot, Snapshot};

use crate::ledger::{Call, How, Ledger, Outcome, Style};
use crate::scenario::KeyPlan;

/// O: the books of a pod at rest agree with the ledger, namespace by namespace.
pub fn balance(keys: &[KeyPlan], pod: usize, snapshot: &Snapshot, ledger: &mut Ledger) {
    let mut numbers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, plan) in keys.iter().enumerate() {
        numbers.entry(plan.terms().name).or_default().push(number);
    }
    for (namespace, numbers) in numbers {
        let nothing = NamespaceSnapshot::default();
        let page = snapshot.namespaces.get(namespace).unwrap_or(&nothing);
        let happened = Happened::in_pod(pod, &numbers, ledger);
        let plain = keys[numbers[0]].terms().plain;
        for (promise, same) in happened.compared_with(page, plain) {
            if !same {
                let sentence =
                    format!("pod {pod} has {page:#?} of {namespace}, where {happened:?}");
                ledger.wrong(promise, sentence);
            }
        }
    }
}

/// What the ledger says of a namespace in a pod.
#[derive(Debug)]
struct Happened {
    calls: u64,
    cancelled: u64,
    timed_out: u64,
    failed: u64,
    runs: u64,
}

impl Happened {
    fn in_pod(pod: usize, keys: &[usize], ledger: &Ledger) -> Self {
        let ours =
            |call: &&Call| call.pod == pod && call.style != Style::Peek && keys.contains(&call.key);
        let count = |which: &dyn Fn(&Outcome) -> bool| {
            let outcomes = ledger.calls.iter().filter(ours).map(|call| &call.outcome);
            outcomes.flatten().filter(|outcome| which(outcome)).count() as u64
        };
        let error = |label: &str| count(&|outcome| *outcome == Outcome::Ours(label.to_owned()));
        let runs = ledger
            .runs
            .iter()
            .filter(|run| run.pod == pod && run.how != How::Put && keys.contains(&run.key));
        Self {
            calls: ledger.calls.iter().filter(ours).count() as u64,
            cancelled: count(&|outcome| matches!(outcome, Outcome::Cancelled | Outcome::Panicked)),
            timed_out: error("wait_timeout"),
            failed: error("unavailable") + error("abandoned"),
            runs: runs.count() as u64,
        }
    }

    fn compared_with(&self, page: &NamespaceSnapshot, plain: bool) -> [(&'static str, bool); 6] {
        let outcomes = &page.outcomes;
        // A plain type has no place for an error: its callers run the body instead.
        let same = |counted: u64, seen: u64| plain || counted == seen;
        [
            // Every body that ran is there.
            (
                "O1",
                page.executions.total() + page.bypassed.total() == self.runs,
            ),
            // Every call is there, and ended once.
            (
                "O2",
                page.calls == self.calls && outcomes.total() == self.calls,
            ),
            (
                "O3",
                page.calls_in_progress + page.executions_in_progress == 0,
            ),
            // Those that were never answered, and no others, are the cancelled ones.
            ("O4", outcomes.cancelled == self.cancelled),
            ("O5", same(outcomes.timed_out, self.timed_out)),
            ("O6", same(outcomes.failed, self.failed)),
        ]
    }
}
