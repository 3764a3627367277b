//! Ends of bodies: a body says when it is about to return, and is over once the runtime has noticed.
//!
//! A thread that loses its processor in between makes its body end later than it says, and a caller that comes
//! meanwhile rightly joins it. The ledger is told of that as of any other standstill.

use std::cell::Cell;
use std::path::Path;

use coalesce::observing::{Ending, Event, Observer};

use crate::ledger::{Ledger, now_micros};

/// From this many microseconds on, the ledger is told: an unhindered return takes less.
const NOTED: u64 = 10;

thread_local! {
    /// When the body that this thread runs was about to return.
    static SAID: Cell<u64> = const { Cell::new(0) };
}

/// Now, as the moment at which the running body is about to return. Nothing may wait between this and its return.
pub(super) fn ends_now() -> u64 {
    let now = now_micros();
    SAID.set(now);
    now
}

/// Is told by the runtime, on the body's thread, that it has ended.
pub(super) struct Ends(pub(super) &'static Path);

impl Ends {
    fn noticed(&self) {
        let (said, noticed) = (SAID.get(), now_micros());
        if noticed > said + NOTED {
            Ledger::write_standstill(self.0, said, noticed);
        }
    }
}

impl Observer for Ends {
    fn record(&self, _namespace: &str, event: &Event) {
        // A body that was dropped has said nothing.
        if let Event::ExecutionEnded { ending, .. } = event
            && matches!(ending, Ending::Value | Ending::Error)
        {
            self.noticed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_noticed_late_is_a_standstill() {
        let ledger = Box::leak(Box::new(Ledger::default()));
        let said = ends_now();
        while now_micros() < said + 1_000 {
            std::hint::spin_loop();
        }
        Ends(ledger.path()).noticed();
        let noted = ledger.standstills();
        let [(pid, span)] = &noted[..] else {
            panic!("{noted:?}")
        };
        assert_eq!((*pid, *span.start()), (std::process::id(), said));
        assert!(*span.end() >= said + 1_000);
    }
}
