//! Polls: when a follower looks for itself, in case nobody tells it.

use std::time::Duration;

/// How a follower times its polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PollPlan {
    /// The first safety poll comes after this long; each later one after twice as long.
    pub first: Duration,
    /// No safety poll waits longer.
    pub widest: Duration,
}

impl Default for PollPlan {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(50),
            widest: Duration::from_secs(1),
        }
    }
}

impl PollPlan {
    /// A poll comes at most this long after the lease has ended, so that it finds the lock free and
    /// so that the followers of a dead leader do not all ask in the same millisecond.
    const BEHIND_LEASE: Duration = Duration::from_millis(50);

    /// How long to wait before poll number `polls` (from 0), when the lease lives for `lease_left`.
    ///
    /// `jitter` is a random number from 0 to 1. The answer is never zero: a poll is a round trip.
    pub(crate) fn pause(&self, polls: u32, lease_left: Duration, jitter: f64) -> Duration {
        let safety = self
            .first
            .saturating_mul(1 << polls.min(16))
            .min(self.widest.max(self.first));
        let behind_lease =
            lease_left + Duration::from_millis(1) + Self::BEHIND_LEASE.mul_f64(jitter);
        safety.min(behind_lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn safety_polls_widen_from_the_first_to_the_widest() {
        let plan = PollPlan::default();
        let pauses: Vec<_> = (0..8)
            .map(|polls| plan.pause(polls, Duration::from_secs(100), 0.5).as_millis())
            .collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000, 1000]);
    }

    #[test]
    fn a_poll_comes_right_behind_the_end_of_the_lease() {
        let plan = PollPlan::default();
        assert_eq!(plan.pause(5, 300 * MS, 0.0), 301 * MS);
        assert_eq!(plan.pause(5, 300 * MS, 1.0), 351 * MS);
        assert_eq!(plan.pause(5, Duration::ZERO, 0.0), MS);
    }
}
