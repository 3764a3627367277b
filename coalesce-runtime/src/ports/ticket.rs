//! The ticket: one call's line in the books, opened when its call site is known and closed exactly once.
//!
//! With it goes the call's span. Nobody enters that: what belongs inside names it as its parent, so a call that
//! is answered at once pays for no more than the question whether somebody wants the span.

use std::sync::Arc;
use std::time::Duration;

use tracing::Span;
use tracing::field::Empty;

use super::event::{BypassReason, CallOutcome, Cause, Ending, Event};
use super::observer::Observers;
use super::wanted::Wanted;
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
    span: Wanted,
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
            span: Wanted::from(tracing::debug_span!(
                "coalesce.call",
                namespace = &**namespace,
                outcome = Empty,
                bypassed = Empty,
                leader.traceparent = Empty,
            )),
        }
    }

    /// The call's span, where somebody wants it.
    pub(crate) fn span(&self) -> &Span {
        &self.span
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
            self.span.record("bypassed", reason.label());
            let bypassed = Event::Bypassed { reason };
            line.observers.record(&line.namespace, &bypassed);
        }
    }

    fn end(&mut self, outcome: CallOutcome) {
        if let Some(line) = self.line.take() {
            let took = now().saturating_duration_since(self.arrived);
            self.span.record("outcome", outcome.label());
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
    span: Wanted,
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
            span: Wanted::from(tracing::debug_span!(
                "coalesce.execution",
                namespace = &**key.namespace(),
                cause = cause.label(),
                outcome = Empty,
            )),
        }
    }

    /// The span that the body runs in, where somebody wants it.
    pub(crate) fn span(&self) -> &Span {
        &self.span
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
            self.span.record("outcome", ending.label());
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
