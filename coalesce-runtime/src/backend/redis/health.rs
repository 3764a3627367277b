//! What the connections have met, for those who watch over the coordinator.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::ports::health::LastFault;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;

/// What the connections note as they go.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    last_fault: Mutex<Option<(Fault, Instant)>>,
    misrouted: AtomicU64,
}

/// Between two attempts to connect there is less.
const TRIED_AGAIN: Duration = Duration::from_secs(10);

impl Vitals {
    /// Who is not let in is not connected either, which says less: of that nothing is noted.
    pub(super) fn note_fault(&self, fault: Fault) {
        let mut last = self
            .last_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let denied =
            last.is_some_and(|(last, at)| last == Fault::Denied && now() - at < TRIED_AGAIN);
        if !(denied && matches!(fault, Fault::Disconnected | Fault::Paused)) {
            *last = Some((fault, now()));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn that_somebody_is_not_let_in_is_not_forgotten_for_what_comes_of_it() {
        let vitals = Vitals::default();
        let last = || vitals.last_fault().map(|last| last.fault);
        vitals.note_fault(Fault::Disconnected);
        assert_eq!(last(), Some(Fault::Disconnected));
        vitals.note_fault(Fault::Denied);
        for fault in [Fault::Disconnected, Fault::Paused] {
            vitals.note_fault(fault);
            assert_eq!(last(), Some(Fault::Denied));
        }
        vitals.note_fault(Fault::Timeout);
        assert_eq!(last(), Some(Fault::Timeout));
        vitals.note_fault(Fault::Denied);
        tokio::time::advance(TRIED_AGAIN).await;
        vitals.note_fault(Fault::Disconnected);
        assert_eq!(last(), Some(Fault::Disconnected));
    }
}
