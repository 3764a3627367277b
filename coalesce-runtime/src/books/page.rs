//! One namespace's page.

use std::sync::atomic::{AtomicU64, Ordering};

use super::measure::{Measure, Tally, to_f64};
use super::snapshot::{Counts, NamespaceSnapshot};
use super::traffic::Recent;
use crate::advisor::{Advice, Figures, advise};
use crate::ports::event::{
    BypassReason, BypassReasons, CallOutcome, CallOutcomes, Cause, Causes, Ending, Endings, Event,
    Faults, Incident, Incidents, Operation, Operations,
};
use crate::words::fault::Fault;

/// What happened in one namespace.
#[derive(Debug, Default)]
pub(super) struct Page {
    calls: AtomicU64,
    outcomes: Tally<{ CallOutcome::ALL.len() }>,
    bypassed: Tally<{ BypassReason::ALL.len() }>,
    executions: Tally<{ Cause::ALL.len() }>,
    endings: Tally<{ Ending::ALL.len() }>,
    incidents: Tally<{ Incident::ALL.len() }>,
    faults: Tally<{ Fault::ALL.len() }>,
    round_trips: Tally<{ Operation::ALL.len() }>,
    recent: Recent,
    /// That of the last call, in microseconds.
    fresh_ttl: AtomicU64,
    hit: Measure,
    led: Measure,
    wait: Measure,
    execution: Measure,
    round_trip: Measure,
    payload: Measure,
}

const MICROSECOND: f64 = 1e-6;

impl Page {
    pub(super) fn record(&self, event: &Event) {
        match *event {
            Event::CallStarted { key, fresh_ttl } => {
                self.calls.fetch_add(1, Ordering::Relaxed);
                if let Some(key) = key {
                    self.recent.note(key);
                    let micros = u64::try_from(fresh_ttl.as_micros()).unwrap_or(u64::MAX);
                    self.fresh_ttl.store(micros, Ordering::Relaxed);
                }
            }
            Event::CallEnded { outcome, took } => {
                self.outcomes.up(outcome as usize);
                match outcome {
                    CallOutcome::Fresh | CallOutcome::Stale => self.hit.record_duration(took),
                    CallOutcome::Led => self.led.record_duration(took),
                    CallOutcome::Followed => self.wait.record_duration(took),
                    _ => {}
                }
            }
            Event::Bypassed { reason } => self.bypassed.up(reason as usize),
            Event::ExecutionStarted { cause } => self.executions.up(cause as usize),
            Event::ExecutionEnded { ending, took, .. } => {
                self.endings.up(ending as usize);
                self.execution.record_duration(took);
            }
            Event::Encoded { bytes } => {
                self.payload
                    .record(u64::try_from(bytes).unwrap_or(u64::MAX));
            }
            Event::RoundTrip { operation, took } => {
                self.round_trips.up(operation as usize);
                self.round_trip.record_duration(took);
            }
            Event::Faulted { fault, .. } => self.faults.up(fault as usize),
            Event::Incident(incident) => self.incidents.up(incident as usize),
        }
    }

    pub(super) fn snapshot(&self) -> NamespaceSnapshot {
        // Ends are read before starts: what begins in between makes nothing negative.
        let outcomes = CallOutcomes::each(|outcome| self.outcomes.get(outcome as usize));
        let endings = Endings::each(|ending| self.endings.get(ending as usize));
        let executions = Causes::each(|cause| self.executions.get(cause as usize));
        let calls = self.calls.load(Ordering::Relaxed);
        let mut snapshot = NamespaceSnapshot {
            calls,
            calls_in_progress: calls.saturating_sub(outcomes.total()),
            outcomes,
            bypassed: BypassReasons::each(|reason| self.bypassed.get(reason as usize)),
            executions_in_progress: executions.total().saturating_sub(endings.total()),
            executions,
            endings,
            incidents: self.incidents(),
            faults: Faults::each(|fault| self.faults.get(fault as usize)),
            round_trips: Operations::each(|operation| self.round_trips.get(operation as usize)),
            hit_seconds: self.hit.distribution(MICROSECOND),
            wait_seconds: self.wait.distribution(MICROSECOND),
            execution_seconds: self.execution.distribution(MICROSECOND),
            round_trip_seconds: self.round_trip.distribution(MICROSECOND),
            payload_bytes: self.payload.distribution(1.0),
            led_seconds: self.led.distribution(MICROSECOND),
            traffic: self.recent.traffic(),
            advice: Advice::default(),
        };
        let fresh_ttl = to_f64(self.fresh_ttl.load(Ordering::Relaxed)) * MICROSECOND;
        snapshot.advice = advise(&figures(&snapshot, fresh_ttl));
        snapshot
    }

    pub(super) fn add_to(&self, counts: &mut Counts) {
        let outcomes = CallOutcomes::each(|outcome| self.outcomes.get(outcome as usize));
        let incidents = self.incidents();
        let bodies = |which: fn(Cause) -> bool| -> u64 {
            let causes = Cause::ALL.iter().filter(|cause| which(**cause));
            causes
                .map(|cause| self.executions.get(*cause as usize))
                .sum()
        };
        counts.fresh += outcomes.fresh;
        counts.stale += outcomes.stale;
        counts.led += outcomes.led;
        counts.followed += outcomes.followed;
        counts.bypassed += self.bypassed.total();
        counts.capped += self.bypassed.get(BypassReason::Capped as usize);
        counts.timed_out += outcomes.timed_out;
        counts.failed += outcomes.failed;
        counts.cancelled += outcomes.cancelled;
        counts.executions += self.executions.total();
        counts.solo_runs += bodies(Cause::is_solo);
        counts.refreshes += bodies(|cause| cause == Cause::Refresh);
        counts.takeovers += incidents.takeovers;
        counts.refresh_failures += incidents.refresh_failures;
        counts.fenced += incidents.fenced;
        counts.too_large += incidents.too_large;
        counts.undecodable += incidents.undecodable;
        counts.faults += self.faults.total();
    }

    fn incidents(&self) -> Incidents {
        Incidents::each(|incident| self.incidents.get(incident as usize))
    }
}

/// What the advisor is told of a namespace.
fn figures(snapshot: &NamespaceSnapshot, fresh_ttl: f64) -> Figures {
    let NamespaceSnapshot {
        outcomes,
        hit_seconds: hit,
        wait_seconds: wait,
        led_seconds: led,
        ..
    } = snapshot;
    let shared = outcomes.fresh + outcomes.stale + outcomes.led + outcomes.followed;
    let timed = to_f64((hit.count + wait.count + led.count).max(1));
    Figures {
        calls: to_f64(shared + outcomes.timed_out + outcomes.failed),
        executions: to_f64(snapshot.executions.total()),
        rate_per_key: snapshot.traffic.calls_per_key_and_second,
        fresh_ttl,
        execution: snapshot.execution_seconds.mean(),
        led: led.mean(),
        call: (hit.sum + wait.sum + led.sum) / timed,
        faults: to_f64(snapshot.faults.total()),
        too_large: to_f64(snapshot.incidents.too_large),
        undecodable: to_f64(snapshot.incidents.undecodable),
    }
}
