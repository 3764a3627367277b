//! The pulse of a process: what it was too busy for, or too stopped, is written to the ledger.

use std::path::Path;
use std::time::Duration;

use crate::ledger::{Ledger, now_micros};

const BEAT: Duration = Duration::from_millis(10);

/// Less is nothing to a deadline.
const STANDSTILL: u64 = 80_000;

/// Beats for as long as the process lives. As a task among the others it waits for its turn as they do.
pub(super) async fn beat(ledger: &Path) {
    loop {
        let from = now_micros();
        tokio::time::sleep(BEAT).await;
        let to = now_micros();
        if to.saturating_sub(from) > STANDSTILL {
            Ledger::write_standstill(ledger, from, to);
        }
    }
}
