//! The checker: every promise about what a caller was answered, from the records of one scenario.

use crate::hub::Hub;
use crate::ledger::{At, Call, How, Ledger, Moment, Outcome, Run, Style, What};
use crate::runs;
use crate::scenario::Scenario;
use crate::server::Server;
use crate::sites::Terms;
use crate::weather::{Climate, DEADLINE};

/// A promise that was broken, and how.
pub type Wrong = (&'static str, String);

/// All that was recorded of one scenario.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub scenario: &'a Scenario,
    pub ledger: &'a Ledger,
    pub server: &'a Server,
}

pub const MS: At = 1_000;
pub const SECOND: At = 1_000 * MS;

/// Every promise that was broken.
pub fn check(scenario: &Scenario, hub: &Hub) -> Vec<Wrong> {
    let (ledger, server) = (hub.ledger(), hub.server());
    let case = Case {
        scenario,
        ledger: &ledger,
        server: &server,
    };
    let mut wrongs = ledger.wrongs.clone();
    wrongs.extend(server.wrongs.iter().cloned());
    for (number, call) in ledger.calls.iter().enumerate() {
        wrongs.extend(case.call(number, call));
    }
    wrongs.extend(runs::check(case));
    wrongs
}

impl Case<'_> {
    pub fn terms(&self, key: usize) -> &'static Terms {
        self.scenario.keys[key].terms()
    }

    /// How far a pod's idea of the server's clock may be from another's.
    pub fn clock_slack(&self) -> At {
        2 * self.scenario.weather.clock_error * MS
    }

    pub fn latency(&self) -> At {
        self.scenario.weather.latency * MS
    }

    /// Whether any fault can have had to do with what a pod did for a key in this time.
    pub fn faulty(&self, pod: usize, key: usize, from: At, to: At) -> bool {
        self.ledger.faults.iter().any(|fault| {
            fault.pod.is_none_or(|of| of == pod)
                && fault.key.is_none_or(|of| of == key)
                && fault.from <= to
                && fault.to >= from
        })
    }

    pub fn lost_data(&self, key: usize) -> bool {
        let lost = |fault: &&crate::ledger::Injected| fault.what == "data loss";
        self.ledger
            .faults
            .iter()
            .filter(lost)
            .any(|fault| fault.key == Some(key))
    }

    pub fn own_runs(&self, call: usize) -> impl Iterator<Item = &Run> {
        let answered = self.ledger.calls[call]
            .answered
            .map_or(At::MAX, |answered| answered.at);
        self.ledger
            .runs
            .iter()
            .filter(move |run| run.call == call && run.started.at <= answered)
    }

    fn call(&self, number: usize, call: &Call) -> Vec<Wrong> {
        let mut wrongs = Vec::new();
        let mut wrong =
            |promise, text: String| wrongs.push((promise, format!("call {number}: {text}")));
        match &call.outcome {
            Some(Outcome::Value { key, nonce }) => {
                if let Some((promise, text)) = self.outcome(number, call, *key, *nonce, false) {
                    wrong(promise, text);
                }
            }
            Some(Outcome::Error { key, nonce }) => {
                if let Some((promise, text)) = self.outcome(number, call, *key, *nonce, true) {
                    wrong(promise, text);
                }
            }
            Some(Outcome::Ours(label)) => {
                if let Some(promise) = self.unexplained(call, label) {
                    wrong(promise, format!("got the error {label} without a reason"));
                }
            }
            Some(Outcome::Panicked) => {
                if !self.own_runs(number).any(|run| run.how == How::Panic) {
                    wrong("S14", "panicked, and its body did not".to_owned());
                }
            }
            Some(Outcome::Nothing) if call.style != Style::Peek => {
                wrong("P2", "got nothing".to_owned());
            }
            Some(Outcome::Nothing | Outcome::Cancelled) | None => {}
        }
        if let Some(text) = self.too_late(number, call) {
            wrong("P4", text);
        }
        if let Some(text) = self.not_switched_off(number, call) {
            wrong("S12", text);
        }
        wrongs
    }

    /// What is wrong with a value or an error of a body, if anything.
    fn outcome(
        &self,
        number: usize,
        call: &Call,
        key: usize,
        nonce: usize,
        is_error: bool,
    ) -> Option<Wrong> {
        let run = self
            .ledger
            .runs
            .get(nonce)
            .filter(|run| run.key == key && key == call.key);
        let Some(run) = run else {
            return Some(("P2", format!("got run {nonce} of key {key}")));
        };
        if run.call == number {
            return None;
        }
        let ended = self.latest_end(nonce, run);
        let Some(ended) = ended else {
            return Some(("P2", format!("got run {nonce}, which has no outcome")));
        };
        if let Some(text) = self.invalidated(call, nonce, run) {
            return Some(("I1", text));
        }
        let terms = self.terms(key);
        let age = call.arrived.at.saturating_sub(ended);
        let slack = self.clock_slack() + DEADLINE.as_micros() as At;
        let limit = match call.style {
            _ if is_error && terms.keep_errors > 0 => terms.keep_errors * MS + slack,
            Style::Refresh => 0,
            _ if is_error || terms.stale == 0 => 0,
            Style::Inline => terms.fresh * MS + slack,
            Style::Detached | Style::Peek => terms.stale * MS + slack,
        };
        let promise = if limit == 0 { "P3" } else { "S6" };
        (age > limit).then(|| {
            (
                promise,
                format!("got run {nonce}, which had ended {age} µs before, limit {limit}"),
            )
        })
    }

    /// When a run ended; for a value that was put, the latest moment at which it can have been.
    fn latest_end(&self, nonce: usize, run: &Run) -> Option<At> {
        if run.how != How::Put {
            return run.ended;
        }
        let put = self
            .ledger
            .changes
            .iter()
            .find(|change| change.what == What::Put { nonce })?;
        Some(
            put.answered
                .filter(|_| put.succeeded)
                .map_or(At::MAX, |answered| answered.at),
        )
    }

    /// I1: nothing computed before an invalidation is served to those who arrived after it.
    fn invalidated(&self, call: &Call, nonce: usize, run: &Run) -> Option<String> {
        let outdated = |change: &&crate::ledger::Change| {
            change.key == call.key
                && change.succeeded
                && matches!(change.what, What::Invalidate | What::Put { .. })
                && change.what != What::Put { nonce }
                && change
                    .answered
                    .is_some_and(|answered| answered < call.arrived)
                && self.latest_start(nonce, run) < change.asked
                // Nobody elsewhere can fence what a pod runs for itself alone.
                && (change.pod == run.pod || self.led(run))
        };
        let change = self.ledger.changes.iter().find(outdated)?;
        let at = change.asked.at;
        (!self.lost_data(call.key) && !self.invalidation_excused(call, run))
            .then(|| format!("got run {nonce}, which began before the change asked for at {at}"))
    }

    /// When a run began; for a value that was put, when that was answered at the latest.
    fn latest_start(&self, nonce: usize, run: &Run) -> Moment {
        let put = self
            .ledger
            .changes
            .iter()
            .find(|change| change.what == What::Put { nonce });
        put.map_or(run.started, |put| {
            put.answered.filter(|_| put.succeeded).unwrap_or(Moment {
                seq: u64::MAX,
                at: At::MAX,
            })
        })
    }

    /// Whether a run began under a lock of its own.
    fn led(&self, run: &Run) -> bool {
        let way = DEADLINE.as_micros() as At;
        self.server.grants.iter().any(|grant| {
            (grant.key, grant.pod, grant.delivered) == (run.key, run.pod, true)
                && (grant.at..=grant.at + way).contains(&run.started.at)
        })
    }

    /// A run without the coordinator's knowledge cannot be fenced.
    fn invalidation_excused(&self, call: &Call, run: &Run) -> bool {
        let answered = call.answered.map_or(At::MAX, |answered| answered.at);
        let since = run.started.at.saturating_sub(SECOND);
        let alone = self.ledger.faults.iter().any(|fault| {
            fault.what == "begin"
                && fault.told.is_some()
                && (fault.pod, fault.key) == (Some(run.pod), Some(run.key))
                && (since..=run.started.at).contains(&fault.from)
        });
        alone || run.pod == call.pod && self.faulty(run.pod, run.key, since, answered)
    }

    /// Why an error of the library was no answer; `None` when it was one.
    fn unexplained(&self, call: &Call, label: &str) -> Option<&'static str> {
        let terms = self.terms(call.key);
        let took = call
            .answered
            .map_or(0, |answered| answered.at - call.arrived.at);
        let broke = |run: &Run| {
            run.key == call.key && matches!(run.how, How::Panic | How::Dropped | How::Running)
        };
        let abandoned =
            self.ledger.runs.iter().any(broke) || self.scenario.climate == Climate::Stormy;
        let (promise, explained) = match label {
            "unavailable" => (
                "S13",
                terms.fails_without_redis || call.style == Style::Peek,
            ),
            "wait_timeout" => ("P4", took >= terms.wait * MS),
            _ => ("S14", abandoned),
        };
        (!explained).then_some(promise)
    }

    /// P4: nobody waits longer than the limit and a second, its own body aside.
    fn too_late(&self, number: usize, call: &Call) -> Option<String> {
        let took = call.answered?.at - call.arrived.at;
        let of = |run: &Run| run.ended.map_or(0, |ended| ended - run.started.at);
        let own: At = self.own_runs(number).map(of).sum();
        let terms = self.terms(call.key);
        // A plain function runs its body in the end, or waits for another that does.
        let falls_back = |run: &Run| terms.plain && run.key == call.key && run.pod == call.pod;
        let solo: At = self
            .ledger
            .runs
            .iter()
            .filter(|run| falls_back(run))
            .map(of)
            .max()
            .unwrap_or(0);
        let limit = terms.wait * MS + own + 2 * solo + SECOND;
        (took > limit).then(|| format!("was answered after {took} µs, limit {limit}"))
    }

    /// S12: while the switch is surely off, a call runs its own body.
    fn not_switched_off(&self, number: usize, call: &Call) -> Option<String> {
        let answered = matches!(
            call.outcome,
            Some(Outcome::Value { .. } | Outcome::Error { .. })
        );
        let changes = || {
            let turns = |change: &&crate::ledger::Change| {
                matches!(change.what, What::SwitchOff | What::SwitchOn)
            };
            self.ledger.changes.iter().filter(turns)
        };
        let last = changes().rfind(|change| change.asked < call.arrived)?;
        let known = last
            .answered
            .filter(|_| last.succeeded && last.what == What::SwitchOff)?;
        let spread = if call.pod == last.pod {
            0
        } else {
            SECOND + 4 * self.latency() + 50 * MS
        };
        if !answered
            || call.style == Style::Peek
            || call.arrived < known
            || call.arrived.at < known.at + spread
            || self.ledger.died(last.pod).is_some()
            || self.faulty(call.pod, usize::MAX, last.asked.at, call.arrived.at)
        {
            return None;
        }
        self.own_runs(number)
            .next()
            .is_none()
            .then(|| "was shared while the switch was off".to_owned())
    }
}
