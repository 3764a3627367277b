//! What the connections have met, for those who watch over the coordinator.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::ports::health::LastFault;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;

/// What the connections note as they go.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    last_fault: Mutex<Option<(Fault, Instant)>>,
    misrouted: AtomicU64,
}

impl Vitals {
    pub(super) fn note_fault(&self, fault: Fault) {
        let mut last = self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some((fault, now()));
    }

    pub(super) fn note_misrouted(&self) {
        self.misrouted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn last_fault(&self) -> Option<LastFault> {
        let last = *self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        last.map(|(fault, at)| LastFault {
            fault,
            ago: now().saturating_duration_since(at),
        })
    }

    pub(super) fn misrouted(&self) -> u64 {
        self.misrouted.load(Ordering::Relaxed)
    }
}
