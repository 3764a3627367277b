//! Reading: what a stored state means to a caller that arrives now.

use std::time::Duration;

use crate::format::envelope::{Envelope, Status};
use crate::words::clock::ServerTime;
use crate::words::policy::{Clocks, Policy};

/// What a stored state means to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Serve the value; nothing else happens.
    Fresh,
    /// Serve the value at once.
    Stale {
        /// Whether a refresh may start behind the answer.
        refresh: bool,
    },
    /// Serve the stored error.
    KeptError,
    /// The value is one that is never stored: run the body, for this process only.
    GoAlone,
    /// There is nothing for this caller.
    Miss,
}

/// A moment further than this in the future was stamped by a clock that has been set back since.
const CLOCK_SLACK: Duration = Duration::from_secs(1);

/// A server that stands still for longer finds its connections cut.
const LONGEST_STANDSTILL: Duration = Duration::from_secs(60);

/// What `envelope` means under `policy` at `now` on the server's clock.
pub(crate) fn read(envelope: &Envelope, policy: &Policy, now: ServerTime) -> Reading {
    let age = envelope.computed_at.until(now);
    let below = |limit: Duration| age < limit;
    match envelope.status {
        Status::Done => value(envelope, policy.clocks(), now, age),
        Status::Failed if below(policy.keep_errors) => Reading::KeptError,
        Status::TooLarge if below(policy.clocks().fresh()) => Reading::GoAlone,
        Status::Failed | Status::TooLarge | Status::Invalidated => Reading::Miss,
    }
}

fn value(envelope: &Envelope, clocks: &Clocks, now: ServerTime, age: Duration) -> Reading {
    let from_the_future = now.until(envelope.computed_at) > CLOCK_SLACK;
    if age < clocks.fresh() && !from_the_future {
        Reading::Fresh
    } else if age < clocks.stale() {
        Reading::Stale {
            refresh: envelope.refresh_after <= now,
        }
    } else {
        Reading::Miss
    }
}

/// Whether two policies mean the same by every state.
pub(crate) fn reads_alike(one: &Policy, other: &Policy) -> bool {
    let times = |policy: &Policy| {
        let clocks = policy.clocks();
        (clocks.fresh(), clocks.stale(), policy.keep_errors)
    };
    times(one) == times(other)
}

/// How long the state left by a flight lives in Redis.
///
/// Where nothing is retained it is kept for `delivery`, so that followers in other processes can read it.
pub(crate) fn life_of(status: Status, policy: &Policy, delivery: Duration) -> Duration {
    let retained = match status {
        Status::Done => policy.clocks().stale(),
        Status::Failed => policy.keep_errors,
        Status::TooLarge => policy.clocks().fresh(),
        // The mark must outlive every flight that it fences, and the FINISH that such a flight has sent
        // with its last breath to a server that did not move.
        Status::Invalidated => policy.clocks().pending() + LONGEST_STANDSTILL,
    };
    retained.max(delivery)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::words::token::Token;

    const SECOND: Duration = Duration::from_secs(1);
    const COMPUTED: ServerTime = ServerTime::from_micros(1_000_000_000);

    fn state(status: Status) -> Envelope {
        let token = Token::from_bytes([1; 16]);
        Envelope {
            computed_at: COMPUTED,
            ..Envelope::new(status, 1, token, SECOND, Bytes::new())
        }
    }

    fn policy(fresh: u32, stale: u32) -> Policy {
        let clocks = Clocks::new(SECOND * fresh, Some(SECOND * stale), SECOND * 30, None).unwrap();
        Policy::new(clocks).keep_errors(2 * SECOND)
    }

    fn at(status: Status, policy: &Policy, age_ms: u64) -> Reading {
        read(
            &state(status),
            policy,
            COMPUTED.plus(Duration::from_millis(age_ms)),
        )
    }

    #[test]
    fn a_value_is_fresh_then_stale_then_nothing() {
        let policy = policy(10, 60);
        assert_eq!(at(Status::Done, &policy, 9_999), Reading::Fresh);
        assert_eq!(
            at(Status::Done, &policy, 10_000),
            Reading::Stale { refresh: true }
        );
        assert_eq!(at(Status::Done, &policy, 60_000), Reading::Miss);
    }

    #[test]
    fn nothing_retained_is_never_served() {
        assert_eq!(at(Status::Done, &policy(0, 0), 0), Reading::Miss);
    }

    #[test]
    fn a_failed_refresh_pauses_the_next_one() {
        let paused = Envelope {
            refresh_after: COMPUTED.plus(12 * SECOND),
            ..state(Status::Done)
        };
        let policy = policy(10, 60);
        assert_eq!(
            read(&paused, &policy, COMPUTED.plus(11 * SECOND)),
            Reading::Stale { refresh: false }
        );
        assert_eq!(
            read(&paused, &policy, COMPUTED.plus(12 * SECOND)),
            Reading::Stale { refresh: true }
        );
    }

    #[test]
    fn an_error_is_served_only_as_long_as_asked_and_a_marker_only_while_fresh() {
        let policy = policy(10, 60);
        assert_eq!(at(Status::Failed, &policy, 1_999), Reading::KeptError);
        assert_eq!(at(Status::Failed, &policy, 2_000), Reading::Miss);
        assert_eq!(at(Status::TooLarge, &policy, 9_999), Reading::GoAlone);
        assert_eq!(at(Status::TooLarge, &policy, 10_000), Reading::Miss);
        assert_eq!(at(Status::Invalidated, &policy, 0), Reading::Miss);
    }

    #[test]
    fn a_value_stamped_an_hour_ahead_is_not_fresh_for_an_hour() {
        let now = COMPUTED.minus(3_600 * SECOND);
        assert_eq!(
            read(&state(Status::Done), &policy(10, 60), now),
            Reading::Stale { refresh: true }
        );
    }

    /// Two readers of one clock may differ by as much.
    #[test]
    fn a_value_stamped_a_second_ahead_is_fresh_still() {
        let (state, policy) = (state(Status::Done), policy(10, 60));
        assert_eq!(
            read(&state, &policy, COMPUTED.minus(SECOND)),
            Reading::Fresh
        );
        let before = COMPUTED.minus(SECOND + Duration::from_micros(1));
        let late = Reading::Stale { refresh: true };
        assert_eq!(read(&state, &policy, before), late);
    }

    #[test]
    fn nothing_lives_shorter_than_its_delivery() {
        let delivery = 5 * SECOND;
        assert_eq!(life_of(Status::Done, &policy(0, 0), delivery), delivery);
        assert_eq!(
            life_of(Status::Done, &policy(10, 60), delivery),
            60 * SECOND
        );
        assert_eq!(life_of(Status::Failed, &policy(10, 60), delivery), delivery);
        assert_eq!(
            life_of(Status::Invalidated, &policy(10, 60), delivery),
            90 * SECOND
        );
    }
}
