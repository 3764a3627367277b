//! The checker's other half: why each body ran, and what became of each lock and each state.

use std::collections::BTreeSet;

use crate::checker::{Case, MS, SECOND, Wrong};
use crate::ledger::{At, How, Outcome, Style, What};
use crate::scenario::Act;
use crate::server::{Ended, Grant};
use crate::weather::{Climate, DEADLINE};
use coalesce_runtime::coordination::Status;

/// Every promise about runs that was broken.
pub fn check(case: Case<'_>) -> Vec<Wrong> {
    let mut wrongs = Vec::new();
    for key in 0..case.scenario.keys.len() {
        wrongs.extend(case.overlaps(key));
        wrongs.extend(case.runs_without_a_lock(key));
        wrongs.extend(case.order_of_writes(key));
    }
    for grant in &case.server.grants {
        wrongs.extend(case.expired(grant));
        wrongs.extend(case.needless(grant));
    }
    for call in 0..case.ledger.calls.len() {
        wrongs.extend(case.idle(call));
    }
    wrongs
}

impl Case<'_> {
    /// P1: without faults, no two bodies of a key overlap.
    fn overlaps(&self, key: usize) -> Option<Wrong> {
        if self.scenario.climate != Climate::Calm {
            return None;
        }
        let mut last: Option<(usize, At)> = None;
        for (nonce, run) in self.ledger.runs_of(key) {
            if let Some((before, ended)) = last.filter(|(_, ended)| *ended > run.started.at) {
                return Some((
                    "P1",
                    format!("run {nonce} began before run {before} had ended at {ended}"),
                ));
            }
            last = Some((nonce, self.ledger.end_of(run)));
        }
        None
    }

    /// S2: every run has a lock of its own, or a reason to do without.
    fn runs_without_a_lock(&self, key: usize) -> Vec<Wrong> {
        let mut wrongs = Vec::new();
        for pod in 0..self.scenario.pods {
            let mut grants: Vec<_> = self
                .server
                .grants
                .iter()
                .filter(|grant| grant.key == key && grant.pod == pod && grant.delivered)
                .map(|grant| grant.at)
                .collect();
            let mut alone = Vec::new();
            for (nonce, run) in self.ledger.runs_of(key).filter(|(_, run)| run.pod == pod) {
                match grants.iter().rposition(|at| *at <= run.started.at) {
                    Some(grant) => drop(grants.remove(grant)),
                    None => alone.push(nonce),
                }
            }
            let reasons = self.reasons_to_run_alone(pod, key);
            if alone.len() > reasons {
                let text = format!(
                    "pod {pod} ran {alone:?} of key {key} without a lock, {reasons} reasons"
                );
                wrongs.push(("S2", text));
            }
        }
        wrongs
    }

    fn reasons_to_run_alone(&self, pod: usize, key: usize) -> usize {
        let terms = self.terms(key);
        let turned = |act: &(_, Act)| matches!(act.1, Act::Switch { .. });
        let large = self
            .ledger
            .runs_of(key)
            .any(|(_, run)| run.how == How::Large);
        if large || self.scenario.acts.iter().any(turned) {
            return usize::MAX;
        }
        let told = |fault: &&crate::ledger::Injected| {
            fault.told.is_some() && fault.pod == Some(pod) && fault.key == Some(key)
        };
        let faults = self.ledger.faults.iter().filter(told).count();
        let here = |call: &&crate::ledger::Call| call.key == key && call.pod == pod;
        let waited = |call: &&crate::ledger::Call| {
            let until = call.answered.map_or(At::MAX, |answered| answered.at);
            until - call.arrived.at >= terms.wait * MS
        };
        let broke = |how: How| matches!(how, How::Panic | How::Dropped);
        let broken = self.ledger.runs_of(key).any(|(_, run)| broke(run.how));
        let calls = self.ledger.calls.iter().filter(here);
        match (terms.plain, broken) {
            (true, true) => faults + calls.count(),
            (true, false) => faults + calls.filter(waited).count(),
            _ if terms.fails_without_redis => 0,
            _ => faults,
        }
    }

    /// P7, P8: what is visible never becomes older, and each flight writes once.
    fn order_of_writes(&self, key: usize) -> Vec<Wrong> {
        let mut wrongs = Vec::new();
        let (mut newest, mut replaced, mut written) = (0, None, BTreeSet::new());
        for write in self.server.writes.iter().filter(|write| write.key == key) {
            let mut wrong = |promise, what| {
                wrongs.push((promise, format!("{what} of key {key} at {}", write.at)));
            };
            match (write.why, write.visible) {
                ("finish", Some(visible)) => {
                    let Some(grant) = self.server.grant_of(visible.token) else {
                        continue;
                    };
                    if grant < newest {
                        wrong("P7", "an older outcome");
                    }
                    newest = newest.max(grant);
                    // A lock that came when the body ran already says nothing about when it began.
                    let led = self.server.grants[grant].at <= visible.began + self.clock_slack();
                    let behind = |(_, at)| visible.began + self.clock_slack() >= at;
                    if led && !replaced.is_none_or(behind) {
                        wrong("P7", "what was computed before it was replaced");
                    }
                    if !written.insert(visible.token) {
                        wrong("P8", "one outcome, written twice,");
                    }
                }
                // The same question asked again puts nothing new in place.
                ("replace", Some(visible)) => {
                    if replaced.is_none_or(|(token, _)| token != visible.token) {
                        replaced = Some((visible.token, write.at));
                    }
                }
                _ => {
                    (newest, replaced) = (0, None);
                    written.clear();
                }
            }
        }
        wrongs
    }

    /// P6: a lock that ended by itself has a reason to.
    fn expired(&self, grant: &Grant) -> Option<Wrong> {
        let (at, _) = grant.ended.filter(|(_, ended)| *ended == Ended::Expired)?;
        let died = self.ledger.died(grant.pod).is_some_and(|died| died <= at);
        // The limit counts from the question, which can have been on its way for a while.
        let way = DEADLINE.as_micros() as At;
        let outlived = at + way >= grant.at + self.terms(grant.key).pending * MS;
        let explained = died || outlived || self.faulty(grant.pod, grant.key, grant.at, at);
        (!explained).then(|| {
            (
                "P6",
                format!(
                    "the lock of pod {} on key {} ended at {at}",
                    grant.pod, grant.key
                ),
            )
        })
    }

    /// S2, P12: a flight begins only when there is no outcome for whoever asked for it.
    fn needless(&self, grant: &Grant) -> Option<Wrong> {
        let (key, pod, at) = (grant.key, grant.pod, grant.at);
        let dead = self.ledger.died(pod).is_some_and(|died| died <= at);
        // A grant for callers that went away is given back; a message from long ago makes a follower ask anew.
        let given_back = matches!(grant.ended, Some((_, Ended::Abandoned)));
        let late = self.scenario.weather.notice_late > 0.0;
        if self.scenario.climate == Climate::Stormy || dead || given_back || late {
            return None;
        }
        let waiting = |call: &&crate::ledger::Call| {
            call.key == key
                && call.pod == pod
                && call.arrived.at <= at
                && call.answered.is_none_or(|answered| answered.at >= at)
        };
        let mut callers = self.ledger.calls.iter().filter(waiting);
        // What was written last, whether or not the server still knows it.
        let writes = &self.server.writes[..grant.writes];
        let write = writes.iter().rfind(|write| write.key == key)?;
        let visible = write.visible?;
        let terms = self.terms(key);
        let age = at.saturating_sub(visible.computed_at);
        let where_ = format!("the flight of pod {pod} on key {key} that began at {at}");
        if terms.stale > 0 && visible.status == Status::Done {
            let by_hand = self
                .ledger
                .calls
                .iter()
                .any(|call| call.key == key && call.style == Style::Refresh);
            let fresh = age + self.clock_slack() + 2 * self.latency() < terms.fresh * MS;
            let paused = visible.refresh_after > at + self.clock_slack()
                && age < terms.stale * MS
                && self.scenario.keys[key].style == Style::Detached;
            return match (by_hand, fresh, paused) {
                (false, true, _) => Some(("S2", format!("{where_} had a fresh value"))),
                (false, _, true) => Some(("P12", format!("{where_} should have paused"))),
                _ => None,
            };
        }
        let outcome = matches!(visible.status, Status::Done | Status::Failed);
        // A plain function cannot return the error of a refresh that it followed.
        let retried = terms.retries
            && self
                .ledger
                .runs_of(key)
                .any(|(_, run)| run.how == How::Error)
            || terms.plain && visible.status == Status::Failed;
        if !outcome || retried || self.changed(key) {
            return None;
        }
        // Whoever asks when the outcome is there already came too late for it, whenever it set out.
        let needed = callers.any(|call| {
            call.arrived.at + self.clock_slack() >= visible.computed_at
                || call.arrived.at + 2 * (2 * self.latency() + MS) >= write.at
        });
        (!needed).then(|| ("S2", format!("{where_} had an outcome for all its callers")))
    }

    fn changed(&self, key: usize) -> bool {
        let change = |what| matches!(what, What::Invalidate | What::Put { .. });
        self.ledger
            .changes
            .iter()
            .any(|changed| changed.key == key && change(changed.what))
    }

    /// P5, P9: while somebody waits, a body runs, or its end is noticed soon.
    fn idle(&self, number: usize) -> Option<Wrong> {
        let call = &self.ledger.calls[number];
        let answered = call.answered?.at;
        if matches!(call.outcome, Some(Outcome::Cancelled)) {
            return None;
        }
        let way = 2 * self.latency() + MS;
        let lease = self.scenario.lease.as_micros() as At;
        let limit = match self.scenario.climate {
            Climate::Calm => 6 * way,
            Climate::Deaf => SECOND + 60 * MS + 6 * way,
            Climate::Deadly => lease + SECOND + 6 * way,
            Climate::Stormy => return None,
        };
        let mut busy: Vec<_> = self
            .ledger
            .runs_of(call.key)
            .map(|(_, run)| (run.started.at, self.ledger.end_of(run)))
            .collect();
        busy.push((answered, At::MAX));
        busy.sort_unstable();
        let mut idle_since = call.arrived.at;
        for (began, ended) in busy {
            let until = began.min(answered);
            if until.saturating_sub(idle_since) > limit {
                let idle = until - idle_since;
                return Some((
                    "P5",
                    format!(
                        "call {number} waited {idle} µs from {idle_since} for nobody, limit {limit}"
                    ),
                ));
            }
            idle_since = idle_since.max(ended);
        }
        None
    }
}
