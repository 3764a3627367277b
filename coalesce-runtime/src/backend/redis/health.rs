//! How the coordinator is: what its connections have met, for those who watch over it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::words::fault::Fault;

/// How a Redis coordinator is at a moment. Asking costs no round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisHealth {
    /// All connections are up.
    pub connected: bool,
    /// Followers are told when a flight ends. When not, they find out by polling.
    pub subscribed: bool,
    /// Questions are answered with [`Fault::Paused`] at once, because the last ones were not answered at all.
    pub paused: bool,
    /// The last fault met by any question.
    pub last_fault: Option<Fault>,
    /// How often a reply or a message was another key's or another request's. Each was discarded.
    pub misrouted: u64,
}

/// What the connections note as they go.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    last_fault: Mutex<Option<Fault>>,
    misrouted: AtomicU64,
}

impl Vitals {
    pub(super) fn note_fault(&self, fault: Fault) {
        let mut last = self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(fault);
    }

    pub(super) fn note_misrouted(&self) {
        self.misrouted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn last_fault(&self) -> Option<Fault> {
        *self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn misrouted(&self) -> u64 {
        self.misrouted.load(Ordering::Relaxed)
    }
}
