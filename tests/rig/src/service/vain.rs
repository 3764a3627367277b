//! Questions in vain: a process that got no usable answer from Redis says so, since it may now run bodies by itself.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use coalesce::observing::{Event, Observer, Operation};

use crate::ledger::{Ledger, now_micros};

/// Of those that follow within so many microseconds it says nothing: in trouble there are thousands.
const PAUSE: u64 = 20_000;

/// Is told by the runtime of each question.
pub(super) struct Vain {
    ledger: &'static Path,
    last: AtomicU64,
}

impl Vain {
    pub(super) const fn new(ledger: &'static Path) -> Self {
        Self {
            ledger,
            last: AtomicU64::new(0),
        }
    }

    fn asked(&self, now: u64) {
        let is_due = |last: u64| (now >= last + PAUSE).then_some(now);
        let order = Ordering::Relaxed;
        if self.last.fetch_update(order, order, is_due).is_ok() {
            Ledger::write_in_vain(self.ledger, now);
        }
    }
}

impl Observer for Vain {
    fn record(&self, _namespace: &str, event: &Event) {
        // These two make no body run.
        if let Event::Faulted { operation, .. } = event
            && !matches!(operation, Operation::Listen | Operation::Switch)
        {
            self.asked(now_micros());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_written_and_those_right_behind_it_are_not() {
        let ledger = Box::leak(Box::new(Ledger::default()));
        let vain = Vain::new(ledger.path());
        for now in [100_000, 119_999, 120_000, 300_000] {
            vain.asked(now);
        }
        let own = |at| (std::process::id(), at);
        assert_eq!(ledger.in_vain(), [100_000, 120_000, 300_000].map(own));
    }
}
