//! Leases: how long a lock may be asked for, and how long a failing refresh rests.

use std::time::Duration;

/// The lease to ask for when a flight has run for `elapsed`: never past `pending`, `None` behind it.
///
/// A dead process is noticed when its short lease ends; a body that never ends, when `pending` does.
pub(crate) fn lease_at(elapsed: Duration, lease: Duration, pending: Duration) -> Option<Duration> {
    let left = pending.saturating_sub(elapsed);
    (!left.is_zero()).then(|| left.min(lease))
}

/// How often a lease is renewed: three beats fit into one lease, so one lost beat costs nothing.
pub(crate) fn beat_of(lease: Duration) -> Duration {
    lease / 3
}

/// No pause after a failed refresh is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pause after another failed refresh, when `failed` had failed in a row before it.
pub(crate) fn pause_after(failed: u8, first: Duration) -> Duration {
    first
        .saturating_mul(1 << failed.min(16))
        .min(LONGEST_PAUSE.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_lease_never_reaches_past_pending() {
        assert_eq!(
            lease_at(Duration::ZERO, 3 * SECOND, 20 * SECOND),
            Some(3 * SECOND)
        );
        assert_eq!(lease_at(19 * SECOND, 3 * SECOND, 20 * SECOND), Some(SECOND));
        assert_eq!(lease_at(20 * SECOND, 3 * SECOND, 20 * SECOND), None);
        assert_eq!(lease_at(Duration::ZERO, 3 * SECOND, SECOND), Some(SECOND));
    }

    #[test]
    fn two_beats_may_be_lost_within_a_lease() {
        assert_eq!(beat_of(3 * SECOND), SECOND);
    }

    #[test]
    fn the_pause_after_failed_refreshes_grows_and_is_bounded() {
        let pauses: Vec<_> = (0..9)
            .map(|failed| pause_after(failed, SECOND).as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_after(255, SECOND), 60 * SECOND);
    }
}
