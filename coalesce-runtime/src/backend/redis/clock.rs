//! The server's clock as this process knows it: learned at each connection, refined by each script's reply.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use crate::words::clock::{Instant, ServerClock, ServerTime, micros, now};

/// The best pairing so far; none before the first reply.
#[derive(Debug, Default)]
pub(super) struct Clock(RwLock<Option<ServerClock>>);

impl Clock {
    /// What is known.
    pub(super) fn known(&self) -> Option<ServerClock> {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, or the pod's own clock while nothing is.
    ///
    /// The pod's clock is a stopgap for a process that has never reached its server. Nothing has been read then,
    /// so no age is judged by it. What is: when a position of the kill switch ends that is set there
    /// (`Coalescer::moment_in`), and moments that go with a first question; those the server judges by its own clock.
    pub(super) fn best(&self) -> ServerClock {
        self.known().unwrap_or_else(|| {
            let since_epoch = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or(Duration::ZERO);
            ServerClock::exact(ServerTime::from_micros(micros(since_epoch)), now())
        })
    }

    /// A reply that carried `server` was asked for at `sent`.
    pub(super) fn refine(&self, server: ServerTime, sent: Instant) {
        let newer = ServerClock::from_reply(server, sent, now());
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(known.map_or(newer, |older| older.refined_by(newer)));
    }

    /// The same after a new connection: it may lead to another server, whose clock is another.
    pub(super) fn relearn(&self, server: ServerTime, sent: Instant) {
        let newer = ServerClock::from_reply(server, sent, now());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(newer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(server_micros: u64) -> ServerTime {
        ServerTime::from_micros(server_micros)
    }

    #[test]
    fn nothing_is_known_before_the_first_reply() {
        let clock = Clock::default();
        assert_eq!(clock.known(), None);
        clock.refine(at(5_000_000), now());
        assert!(clock.known().is_some());
    }

    #[test]
    fn a_vague_reply_refines_nothing_but_a_new_connection_counts_at_once() {
        let clock = Clock::default();
        let sent = now();
        clock.relearn(at(5_000_000), sent);
        let sharp = clock.known();
        let vague = sent.checked_sub(Duration::from_secs(1)).unwrap_or(sent);
        clock.refine(at(9_000_000), vague);
        assert_eq!(clock.known(), sharp);
        clock.relearn(at(9_000_000), vague);
        assert_ne!(clock.known(), sharp);
    }

    #[test]
    fn the_best_that_is_known_is_the_servers_time_and_before_it_our_own() {
        let (clock, epoch) = (Clock::default(), SystemTime::UNIX_EPOCH);
        let ours = || at(micros(epoch.elapsed().unwrap_or_default()));
        let (before, best, after) = (ours(), clock.best().server_at(now()), ours());
        assert!(before <= best && best <= after.plus(Duration::from_secs(1)));
        clock.relearn(at(5_000_000), now());
        assert_eq!(Some(clock.best()), clock.known());
    }
}
