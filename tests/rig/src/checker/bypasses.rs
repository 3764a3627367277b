//! Bypasses: runs of calls that went past the coordinator, which must have been told to.

use std::ops::RangeInclusive;

use super::accounts::RECOVERY;
use super::{Expectation, pid_of};
use crate::ledger::{Note, Run};

/// Whether the switch was off, or its process ending, by what was done and not only by the run's own account.
pub(super) fn is_allowed(run: &Run, expected: &Expectation<'_>) -> bool {
    let pid = pid_of(&run.name);
    let ends = |(of, at): &(u32, u64)| Some(*of) == pid && *at <= run.started;
    let is_off = |off: &RangeInclusive<u64>| {
        *off.start() <= run.started && run.started <= known_until(*off.end(), pid, expected)
    };
    run.has(Note::PastEnd) && expected.ending.iter().any(ends)
        || run.has(Note::PastSwitch) && expected.switched.iter().any(is_off)
}

/// Until when a process may not know that the switch is on again: it reads it each second, when it can.
fn known_until(on_again: u64, pid: Option<u32>, expected: &Expectation<'_>) -> u64 {
    let mut until = on_again.saturating_add(RECOVERY);
    loop {
        let own = expected.stopped.too_long(pid).iter();
        let in_vain = expected.trouble.iter().chain(expected.aftermath).chain(own);
        let meanwhile = in_vain
            .filter(|span| (on_again..=until).contains(span.start()) || span.contains(&on_again));
        let later = meanwhile
            .map(|span| span.end().saturating_add(RECOVERY))
            .max();
        match later {
            Some(later) if later > until => until = later,
            _ => return until,
        }
    }
}
