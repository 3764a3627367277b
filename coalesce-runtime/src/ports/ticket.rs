//! The ticket: one call's line in the books, opened when its call site is known and closed exactly once.

use std::sync::Arc;
use std::time::Duration;

use super::event::{BypassReason, CallOutcome, Cause, Ending, Event};
use super::observer::Observers;
use crate::words::clock::{Instant, now};
use crate::words::key::Key;
use crate::words::policy::Policy;

/// A call that has come in. Dropped without an outcome, it was cancelled.
#[derive(Debug)]
#[must_use = "dropping it says that the call was cancelled"]
pub(crate) struct Ticket {
    line: Option<Line>,
    arrived: Instant,
    timed_out: bool,
}

#[derive(Debug)]
struct Line {
    observers: Arc<Observers>,
    namespace: Arc<str>,
}

impl Ticket {
    /// A call of `key`.
    pub(crate) fn of_call(observers: &Arc<Observers>, key: &Key, policy: &Policy) -> Self {
        let started = Event::CallStarted {
            key: Some(key.fingerprint()),
            fresh_ttl: policy.clocks().fresh(),
        };
        Self::open(observers, key.namespace(), &started)
    }

    /// A call whose key could not be made.
    pub(crate) fn without_key(observers: &Arc<Observers>, namespace: &Arc<str>) -> Self {
        let started = Event::CallStarted {
            key: None,
            fresh_ttl: Duration::ZERO,
        };
        Self::open(observers, namespace, &started)
    }

    fn open(observers: &Arc<Observers>, namespace: &Arc<str>, started: &Event) -> Self {
        observers.record(namespace, started);
        let line = Line {
            observers: Arc::clone(observers),
            namespace: Arc::clone(namespace),
        };
        Self {
            line: Some(line),
            arrived: now(),
            timed_out: false,
        }
    }

    /// When the call came in.
    pub(crate) const fn arrived(&self) -> Instant {
        self.arrived
    }

    /// The call has waited as long as it may: whatever comes now, that is how it ended.
    pub(crate) const fn timed_out(&mut self) {
        self.timed_out = true;
    }

    /// The call is answered.
    pub(crate) fn close(mut self, outcome: CallOutcome) {
        let outcome = if self.timed_out {
            CallOutcome::TimedOut
        } else {
            outcome
        };
        self.end(outcome);
    }

    /// The call's body runs as if the attribute were not there.
    pub(crate) fn bypassed(&self, reason: BypassReason) {
        if let Some(line) = &self.line {
            let bypassed = Event::Bypassed { reason };
            line.observers.record(&line.namespace, &bypassed);
        }
    }

    fn end(&mut self, outcome: CallOutcome) {
        if let Some(line) = self.line.take() {
            let took = now().saturating_duration_since(self.arrived);
            let ended = Event::CallEnded { outcome, took };
            line.observers.record(&line.namespace, &ended);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(CallOutcome::Cancelled);
    }
}

/// A body that runs. Dropped before it ended, it was abandoned.
#[derive(Debug)]
pub(crate) struct Execution {
    line: Option<Line>,
    cause: Cause,
    started: Instant,
}

impl Execution {
    /// A body for `key` starts.
    pub(crate) fn start(observers: &Arc<Observers>, key: &Key, cause: Cause) -> Self {
        observers.record(key.namespace(), &Event::ExecutionStarted { cause });
        let line = Line {
            observers: Arc::clone(observers),
            namespace: Arc::clone(key.namespace()),
        };
        Self {
            line: Some(line),
            cause,
            started: now(),
        }
    }

    /// When it started.
    pub(crate) const fn started(&self) -> Instant {
        self.started
    }

    /// It ended, at `ended`.
    pub(crate) fn end(mut self, ending: Ending, ended: Instant) {
        self.tell(ending, ended);
    }

    fn tell(&mut self, ending: Ending, ended: Instant) {
        if let Some(line) = self.line.take() {
            let ended = Event::ExecutionEnded {
                cause: self.cause,
                ending,
                took: ended.saturating_duration_since(self.started),
            };
            line.observers.record(&line.namespace, &ended);
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if self.line.is_some() {
            self.tell(Ending::Abandoned, now());
        }
    }
}
