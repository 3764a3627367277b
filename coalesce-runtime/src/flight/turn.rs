//! Turns: where a caller's way through its entry has led.

use super::seat::Seat;
use super::settlement::{Outcome, Stored};
use crate::format::envelope::Seen;
use crate::words::error::Error;

/// Where a caller's way has led.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It runs the body.
    Seat(Seat),
    /// It has the outcome of a flight it followed.
    Followed(Outcome),
    /// It has a stored value.
    Fresh(Outcome),
    /// It has a stored value that is past its fresh time.
    Stale {
        outcome: Outcome,
        /// Whether it may start a refresh, and of which state.
        refresh: Option<Seen>,
    },
    /// It has neither.
    Error(Error),
    /// Nothing can be shared, not even within this process: it runs the body by itself.
    Alone,
    /// There is no room for it in this process.
    Capped,
}

impl From<Stored> for Turn {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Fresh(outcome) => Self::Fresh(outcome),
            Stored::Stale { outcome, refresh } => Self::Stale { outcome, refresh },
        }
    }
}

impl Turn {
    /// Its name in spans.
    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Seat(_) => "leads",
            Self::Followed(_) => "followed",
            Self::Fresh(_) => "fresh",
            Self::Stale { .. } => "stale",
            Self::Error(_) => "error",
            Self::Alone => "alone",
            Self::Capped => "capped",
        }
    }
}
