//! The two clocks: the coordinator's time, in which ages and leases are measured, and the
//! process's own monotonic time, in which waits are.

use std::time::Duration;

pub(crate) use tokio::time::Instant;

/// The only place that asks the process for the time, so that a test with paused time pauses all of it.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A moment on the coordinator's clock (Redis `TIME`), in microseconds since the Unix epoch.
///
/// Two pods never compare their own wall clocks; they compare these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerTime(u64);

impl ServerTime {
    /// The moment `micros` microseconds after the Unix epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long before `later` this moment was; zero when it was not before.
    ///
    /// A moment in the future is a clock that was set back. It counts as "just now" rather than as
    /// an immense age or an error.
    pub const fn until(self, later: Self) -> Duration {
        Duration::from_micros(later.0.saturating_sub(self.0))
    }

    /// This moment moved forward.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    /// This moment moved back.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

/// A duration in whole microseconds, clamped to what fits.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// A duration in whole milliseconds, rounded up: Redis refuses an expiry of 0.
pub(crate) fn millis_up(span: Duration) -> u64 {
    micros(span).div_ceil(1_000)
}

/// What a process knows of the server's clock: one pairing of the two clocks and how far off it may be.
///
/// A plain `GETRANGE` carries no time, so a hit is judged by this and not by a second command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerClock {
    local: Instant,
    server: ServerTime,
    uncertainty: Duration,
}

impl ServerClock {
    /// How long a good pairing is preferred to a newer, vaguer one: clocks drift, and a server's clock can be set.
    const KEEP_BEST: Duration = Duration::from_secs(2);

    /// A reply that carried `server` was asked for at `sent` and had arrived at `received`.
    pub fn from_reply(server: ServerTime, sent: Instant, received: Instant) -> Self {
        let round_trip = received.saturating_duration_since(sent);
        let uncertainty = round_trip / 2;
        Self {
            local: sent + uncertainty,
            server,
            uncertainty,
        }
    }

    /// The exact pairing, for a coordinator that lives in this process.
    pub fn exact(server: ServerTime, local: Instant) -> Self {
        Self {
            local,
            server,
            uncertainty: Duration::ZERO,
        }
    }

    /// The better of an old and a new pairing: the one with the shorter round trip, unless it has aged.
    #[must_use]
    pub fn refined_by(self, newer: Self) -> Self {
        let aged = newer.local.saturating_duration_since(self.local) > Self::KEEP_BEST;
        if aged || newer.uncertainty <= self.uncertainty {
            newer
        } else {
            self
        }
    }

    /// The server's time at a local instant, before or after the pairing.
    pub fn server_at(&self, local: Instant) -> ServerTime {
        match local.checked_duration_since(self.local) {
            Some(later) => self.server.plus(later),
            None => self
                .server
                .minus(self.local.saturating_duration_since(local)),
        }
    }

    /// The server's time that surely was not after a local instant: the estimate less its uncertainty.
    pub fn server_surely_before(&self, local: Instant) -> ServerTime {
        self.server_at(local).minus(self.uncertainty)
    }

    /// The latest local instant that was surely not after `moment`: the estimate less its uncertainty.
    ///
    /// `None` when it lies before anything this process's clock can express.
    pub fn surely_before(&self, moment: ServerTime) -> Option<Instant> {
        let estimate = if moment >= self.server {
            self.local.checked_add(self.server.until(moment))
        } else {
            self.local.checked_sub(moment.until(self.server))
        };
        estimate?.checked_sub(self.uncertainty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_moment_in_the_future_has_no_age() {
        let later = ServerTime::from_micros(10);
        assert_eq!(later.until(ServerTime::from_micros(3)), Duration::ZERO);
    }

    #[test]
    fn an_expiry_below_a_millisecond_is_rounded_up_and_never_zero() {
        assert_eq!(millis_up(Duration::from_micros(400)), 1);
        assert_eq!(millis_up(Duration::from_micros(1_500)), 2);
        assert_eq!(millis_up(Duration::from_millis(999)), 999);
    }

    #[test]
    fn the_shorter_round_trip_is_kept_until_it_has_aged() {
        let start = now();
        let sharp = ServerClock::from_reply(ServerTime::from_micros(1_000), start, start + MS);
        let vague = ServerClock::from_reply(ServerTime::from_micros(9_000), start, start + 80 * MS);
        assert_eq!(sharp.refined_by(vague), sharp);
        let much_later = start + Duration::from_secs(5);
        let later =
            ServerClock::from_reply(ServerTime::from_micros(1), much_later, much_later + 80 * MS);
        assert_eq!(sharp.refined_by(later), later);
    }

    #[test]
    fn a_pairing_has_aged_behind_its_time_and_not_at_its_end() {
        let pairing = |local, uncertainty| ServerClock {
            local,
            server: ServerTime::default(),
            uncertainty,
        };
        let start = now();
        let sharp = pairing(start, MS);
        let at_the_end = pairing(start + ServerClock::KEEP_BEST, 2 * MS);
        let behind_it = pairing(start + ServerClock::KEEP_BEST + MS, 2 * MS);
        assert_eq!(sharp.refined_by(at_the_end), sharp);
        assert_eq!(sharp.refined_by(behind_it), behind_it);
        // A better one is taken at once, and so is one as good: it is newer.
        let vague = pairing(start, 2 * MS);
        assert_eq!(vague.refined_by(sharp), sharp);
        let as_good = pairing(start + MS, MS);
        assert_eq!(sharp.refined_by(as_good), as_good);
    }

    #[test]
    fn a_reply_is_paired_with_the_middle_of_its_round_trip() {
        let start = now() + Duration::from_secs(10);
        let moment = |millis: u32| ServerTime::from_micros(5_000_000).plus(millis * MS);
        let clock = ServerClock::from_reply(moment(0), start, start + 2 * MS);
        let middle = start + MS;
        assert_eq!(clock.server_at(middle), moment(0));
        assert_eq!(clock.server_at(middle + 7 * MS), moment(7));
        assert_eq!(clock.server_at(start), moment(0).minus(MS));
        assert_eq!(clock.server_surely_before(middle + 7 * MS), moment(6));
    }

    #[test]
    fn a_server_moment_maps_back_to_an_instant_that_was_surely_not_later() {
        let start = now() + Duration::from_secs(10);
        let clock =
            ServerClock::from_reply(ServerTime::from_micros(5_000_000), start, start + 2 * MS);
        let mapped = |micros| clock.surely_before(ServerTime::from_micros(micros));
        assert_eq!(mapped(5_000_000), Some(start));
        assert_eq!(mapped(5_007_000), Some(start + 7 * MS));
        assert_eq!(mapped(4_993_000), start.checked_sub(7 * MS));
    }
}
