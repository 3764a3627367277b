//! Reports: what a body left, and what of it is for whom.

use bytes::Bytes;

use super::settlement::{Outcome, Settlement, Verdict};
use crate::format::envelope::{Seen, Status};
use crate::format::traceparent::Traceparent;
use crate::words::clock::{Instant, now};

/// What the body left.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) produced: Produced,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    /// The trace that the body was part of.
    pub(crate) trace: Option<Traceparent>,
}

/// A value or an error as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Produced {
    pub(crate) status: Status,
    pub(crate) codec: u8,
    pub(crate) payload: Bytes,
    /// The encoded value when it is above the ceiling, for callers that share this process.
    pub(crate) spare: Option<Bytes>,
}

impl Produced {
    /// A value that has no bytes.
    pub(crate) fn unwritten() -> Self {
        Self {
            status: Status::TooLarge,
            codec: 0,
            payload: Bytes::new(),
            spare: None,
        }
    }
}

impl Report {
    /// The report of a body that ended without an outcome, as an error that nobody can read.
    pub(super) fn of_nothing() -> Self {
        let produced = Produced {
            status: Status::Failed,
            codec: 0,
            payload: Bytes::new(),
            spare: None,
        };
        Self {
            produced,
            started: now(),
            ended: now(),
            trace: None,
        }
    }

    /// The settlement for callers of this process that had arrived by `until`.
    pub(super) fn shared_here(&self, mark: Seen, until: Instant) -> Settlement {
        let Produced {
            status,
            codec,
            payload,
            ..
        } = self.produced.clone();
        let verdict = match (status, self.spare(mark)) {
            (_, Some(spare)) => Verdict::Outcome(spare),
            (Status::TooLarge, None) => Verdict::GoAlone,
            (status, None) => Verdict::Outcome(Outcome {
                status,
                codec,
                payload,
                mark,
                trace: self.trace,
            }),
        };
        Settlement {
            verdict,
            for_arrivals_until: Some(until),
        }
    }

    /// The value that is not stored, for callers of this process.
    pub(super) fn spare(&self, mark: Seen) -> Option<Outcome> {
        self.produced.spare.clone().map(|payload| Outcome {
            status: Status::Done,
            codec: self.produced.codec,
            payload,
            mark,
            trace: self.trace,
        })
    }
}
