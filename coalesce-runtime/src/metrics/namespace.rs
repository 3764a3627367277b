//! The instruments of one namespace.

use std::fmt;
use std::sync::Arc;

use ::metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

use super::table;
use crate::ports::event::{BypassReason, CallOutcome, Cause, Ending, Event, Incident, Operation};
use crate::words::fault::Fault;

/// A handle for each series of a namespace. Counters exist from the beginning, so that the first event is
/// a step from 0 and not a series that appears.
pub(super) struct Instruments {
    calls: Vec<Counter>,
    calls_in_progress: Gauge,
    bypassed: Vec<Counter>,
    executions: Vec<Counter>,
    executions_ended: Vec<Counter>,
    executions_in_progress: Gauge,
    incidents: Vec<Counter>,
    faults: Vec<Counter>,
    hit: Histogram,
    wait: Histogram,
    execution: Histogram,
    round_trips: Vec<Histogram>,
    payload: Histogram,
}

impl Instruments {
    pub(super) fn of(namespace: &Arc<str>) -> Self {
        let family = |name: &'static str, label: &'static str, words: &[&'static str]| {
            let of_word = |word: &&'static str| counter!(name, "namespace" => Arc::clone(namespace), label => *word);
            words.iter().map(of_word).collect()
        };
        let gauge_of = |name: &'static str| gauge!(name, "namespace" => Arc::clone(namespace));
        let histogram_of =
            |name: &'static str| histogram!(name, "namespace" => Arc::clone(namespace));
        let incident = |incident: &Incident| counter!(name_of(*incident), "namespace" => Arc::clone(namespace));
        let round_trip = |operation: &Operation| {
            let label = operation.label();
            histogram!(table::ROUND_TRIP, "namespace" => Arc::clone(namespace), "operation" => label)
        };
        Self {
            calls: family(
                table::CALLS,
                "outcome",
                &labels(CallOutcome::ALL, CallOutcome::label),
            ),
            calls_in_progress: gauge_of(table::CALLS_IN_PROGRESS),
            bypassed: family(
                table::BYPASSED,
                "reason",
                &labels(BypassReason::ALL, BypassReason::label),
            ),
            executions: family(
                table::EXECUTIONS,
                "cause",
                &labels(Cause::ALL, Cause::label),
            ),
            executions_ended: family(
                table::EXECUTIONS_ENDED,
                "ending",
                &labels(Ending::ALL, Ending::label),
            ),
            executions_in_progress: gauge_of(table::EXECUTIONS_IN_PROGRESS),
            incidents: Incident::ALL.iter().map(incident).collect(),
            faults: family(table::FAULTS, "kind", &labels(Fault::ALL, Fault::label)),
            hit: histogram_of(table::HIT),
            wait: histogram_of(table::WAIT),
            execution: histogram_of(table::EXECUTION),
            round_trips: Operation::ALL.iter().map(round_trip).collect(),
            payload: histogram_of(table::PAYLOAD),
        }
    }

    pub(super) fn record(&self, event: &Event) {
        match *event {
            Event::CallStarted { .. } => self.calls_in_progress.increment(1),
            Event::CallEnded { outcome, took } => {
                self.calls_in_progress.decrement(1);
                up(&self.calls, outcome as usize);
                match outcome {
                    CallOutcome::Fresh | CallOutcome::Stale => self.hit.record(took),
                    CallOutcome::Followed => self.wait.record(took),
                    _ => {}
                }
            }
            Event::Bypassed { reason } => up(&self.bypassed, reason as usize),
            Event::ExecutionStarted { cause } => {
                self.executions_in_progress.increment(1);
                up(&self.executions, cause as usize);
            }
            Event::ExecutionEnded { ending, took, .. } => {
                self.executions_in_progress.decrement(1);
                up(&self.executions_ended, ending as usize);
                self.execution.record(took);
            }
            Event::Encoded { bytes } => self.payload.record(to_f64(bytes)),
            Event::RoundTrip { operation, took } => {
                if let Some(round_trip) = self.round_trips.get(operation as usize) {
                    round_trip.record(took);
                }
            }
            Event::Faulted { fault, .. } => up(&self.faults, fault as usize),
            Event::Incident(incident) => up(&self.incidents, incident as usize),
        }
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Instruments")
    }
}

const fn name_of(incident: Incident) -> &'static str {
    match incident {
        Incident::Takeover => table::TAKEOVERS,
        Incident::RefreshFailed => table::REFRESH_FAILURES,
        Incident::Fenced => table::FENCED,
        Incident::LeaseLost => table::LEASES_LOST,
        Incident::TooLarge => table::TOO_LARGE,
        Incident::Undecodable => table::UNDECODABLE,
        Incident::LostWakeUp => table::LOST_WAKE_UPS,
        Incident::DoubleCheckHit => table::DOUBLE_CHECK_HITS,
    }
}

fn labels<W: Copy>(words: &[W], label: fn(W) -> &'static str) -> Vec<&'static str> {
    words.iter().map(|word| label(*word)).collect()
}

fn up(counters: &[Counter], word: usize) {
    if let Some(counter) = counters.get(word) {
        counter.increment(1);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody reads the size of a payload to its last byte"
)]
fn to_f64(bytes: usize) -> f64 {
    bytes as f64
}
