//! Settlements: how an entry of the fold ends, and for whom.

use std::sync::Arc;

use bytes::Bytes;

use super::entry::Entry;
use crate::format::envelope::{Envelope, Seen, Status};
use crate::format::traceparent::Traceparent;
use crate::words::clock::Instant;
use crate::words::fault::Fault;
use crate::words::policy::Policy;

/// How an entry ended.
#[derive(Clone, Debug)]
pub(crate) struct Settlement {
    pub(crate) verdict: Verdict,
    /// The callers it is for: those that had arrived by then. `None`: all.
    ///
    /// With nothing retained a caller may only receive the outcome of a flight that ended after it
    /// arrived; and nobody may receive one that was invalidated before it arrived.
    pub(crate) for_arrivals_until: Option<Instant>,
}

/// What an entry ended with.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// A flight's outcome.
    Outcome(Outcome),
    /// A stored value, fresh or stale by this policy.
    Stored(Stored, Arc<Policy>),
    /// A stored mark that the value is one that is never stored, as long as it counts by this policy.
    Marked(Arc<Policy>),
    /// The flight ended without an outcome.
    Abandoned,
    /// Whoever was to run the body has gone away: whoever still waits starts again.
    GaveWay,
    /// So did one flight after the other, elsewhere.
    AbandonedForGood,
    /// The flight has had all the time that it may have: whoever still waits starts again.
    Outlived,
    /// The entry ended for a reason of its own: whoever still waits starts again.
    StartAgain,
    /// There is nobody to coordinate with, and the body runs for this entry already: whoever waits joins it.
    RunsHere(Arc<Entry>),
    /// The value is one that is never stored: each process runs the body for itself.
    GoAlone,
    /// The coordinator gave no answer, and the call site wants to know.
    Unavailable(Fault),
}

/// A stored value that is an answer.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    /// It is below `fresh_ttl`.
    Fresh(Outcome),
    /// It is below `stale_ttl`.
    Stale {
        outcome: Outcome,
        /// Whether a refresh may start, and the mark of the value it would replace.
        refresh: Option<Seen>,
    },
}

/// What a body left, as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) codec: u8,
    pub(crate) payload: Bytes,
    /// The mark of the state it came from, so that a caller which cannot read it can pass over it.
    pub(crate) mark: Seen,
    /// The trace that the body was part of.
    pub(crate) trace: Option<Traceparent>,
}

impl Stored {
    /// The mark of the state that it was read from.
    pub(crate) const fn mark(&self) -> Seen {
        match self {
            Self::Fresh(outcome) | Self::Stale { outcome, .. } => outcome.mark,
        }
    }
}

impl From<Envelope> for Outcome {
    fn from(envelope: Envelope) -> Self {
        let Envelope {
            status,
            codec,
            token,
            payload,
            trace,
            ..
        } = envelope;
        Self {
            status,
            codec,
            payload,
            mark: token.into(),
            trace,
        }
    }
}

impl Settlement {
    /// A settlement for everybody.
    pub(crate) const fn for_all(verdict: Verdict) -> Self {
        Self {
            verdict,
            for_arrivals_until: None,
        }
    }

    /// Whether a caller that arrived at `arrived` may take it.
    pub(crate) fn is_for(&self, arrived: Instant) -> bool {
        self.for_arrivals_until.is_none_or(|until| arrived <= until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::words::clock::now;

    #[test]
    fn a_settlement_is_for_those_who_had_arrived() {
        let until = now();
        let settlement = Settlement {
            verdict: Verdict::Abandoned,
            for_arrivals_until: Some(until),
        };
        assert!(settlement.is_for(until));
        assert!(!settlement.is_for(until + Duration::from_micros(1)));
        assert!(Settlement::for_all(Verdict::Abandoned).is_for(until + Duration::from_secs(9)));
    }
}
