//! An entry of the fold: one unit of shared work in this process, its members, its seat and where it stands.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::seat::Seat;
use super::settlement::{Outcome, Settlement};
use crate::format::envelope::Seen;
use crate::format::traceparent::Traceparent;
use crate::words::clock::{Instant, now};
use crate::words::key::Key;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Ordinary calls: one driver talks to the coordinator for all of them.
    Shared,
    /// Calls that want a flight and nothing stored: ordinary ones are served what is stored meanwhile.
    Requested,
    /// Callers that fell back to running the body: one run for this process.
    Solo,
    /// The refresh behind stale answers.
    Refresh,
}

/// One unit of shared work in this process.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) lane: Lane,
    pub(super) key: Key,
    pub(super) stage: watch::Sender<Stage>,
    seat: Mutex<Option<Seat>>,
    /// Callers that wait. Changed only under the fold's lock.
    pub(super) members: AtomicUsize,
    /// Whether the one who runs the body is among the members, or has gone away.
    pub(super) seated: AtomicBool,
    /// Whether a driver task works for this entry. Changed only under the fold's lock.
    pub(super) driven: AtomicBool,
    /// Which member reads, and since when. Changed only under the fold's lock.
    pub(super) reader: Mutex<(Reader, Instant)>,
    /// The trace of whoever leads, or of whoever asked to, as far as it is known.
    led_in: OnceLock<Traceparent>,
    /// Whom its outcome will be for, when that is known before: those who had arrived by then.
    for_arrivals_until: OnceLock<Instant>,
    /// What a flight of this process that its members may follow left, should its outcome be one that is not stored.
    lent: OnceLock<Outcome>,
    /// Whether its body runs in this process. Changed only under the fold's lock.
    pub(super) runs_here: AtomicBool,
    /// Whether it has left the fold.
    pub(super) closed: AtomicBool,
    /// Rung when it stands elsewhere.
    pub(super) news: Notify,
    /// Rung when the last member leaves.
    pub(super) empty: Notify,
    _room: Room,
}

/// The room that an entry takes, for as long as anybody has it: those count that nobody can join any more.
#[derive(Debug)]
pub(super) struct Room(Arc<AtomicUsize>);

impl Room {
    pub(super) fn taken_of(taken: &Arc<AtomicUsize>) -> Self {
        taken.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(taken))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of a member that reads, among the readers of its entry. 0: it does not.
pub(super) type Reader = u64;

/// A reader is a caller's own task. One that has not come to an end for this long may be a future that
/// nobody polls, and must not keep the others.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// Where an entry stands.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Somebody reads or drives; wait.
    Working,
    /// Whoever read went away: the first member to claim it reads.
    Vacant,
    /// The driver leads and needs a body: the first member to take the seat brings it.
    Offered,
    /// It is over.
    Settled(Arc<Settlement>),
}

impl Entry {
    pub(super) fn new(lane: Lane, key: Key, room: Room) -> Self {
        Self {
            lane,
            key,
            stage: watch::Sender::new(Stage::Working),
            seat: Mutex::new(None),
            members: AtomicUsize::new(0),
            seated: AtomicBool::new(false),
            driven: AtomicBool::new(false),
            reader: Mutex::new((0, now())),
            led_in: OnceLock::new(),
            for_arrivals_until: OnceLock::new(),
            lent: OnceLock::new(),
            runs_here: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            news: Notify::new(),
            empty: Notify::new(),
            _room: room,
        }
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    /// Its members wait for a leader in that trace. The first counts: for that one most of them have waited.
    pub(super) fn is_led_in(&self, trace: Option<Traceparent>) {
        if let Some(trace) = trace {
            let _ = self.led_in.set(trace);
        }
    }

    /// The trace of the leader that its members wait for.
    pub(super) fn led_in(&self) -> Option<Traceparent> {
        self.led_in.get().copied()
    }

    /// Its outcome will be for those alone who had arrived by `until`. The others are woken: they start again, and
    /// must find that it has left the fold. The first fence counts.
    pub(super) fn is_for_arrivals_until(&self, until: Instant) {
        if self.for_arrivals_until.set(until).is_ok() {
            self.stage.send_modify(|_| ());
            self.news.notify_waiters();
        }
    }

    /// Whether its outcome may be for a caller that arrived at `arrived`.
    pub(super) fn may_be_for(&self, arrived: Instant) -> bool {
        let until = self.for_arrivals_until.get();
        until.is_none_or(|until| arrived <= *until)
    }

    /// A flight of this process has left this, and its process alone will have it.
    pub(super) fn is_lent(&self, spare: &Outcome) {
        let _ = self.lent.set(spare.clone());
    }

    /// What the flight of that mark has left for its own process.
    pub(super) fn lent(&self, mark: Seen) -> Option<Outcome> {
        self.lent.get().filter(|it| it.mark == mark).cloned()
    }

    /// The driver leads: whoever takes the seat brings the body.
    pub(crate) fn offer(&self, seat: Seat) {
        *self.seat() = Some(seat);
        self.stands(Stage::Offered);
    }

    /// Where it stands from now on. Those who wait are woken in the order in which they came: it is the first of them
    /// that brings the body, and a simulation tells the same story twice.
    pub(super) fn stands(&self, stage: Stage) {
        self.stage.send_replace(stage);
        self.news.notify_waiters();
    }

    /// Whether nobody is to join it any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Whether a driver task works for this entry.
    pub(super) fn is_driven(&self) -> bool {
        self.driven.load(Ordering::Relaxed)
    }

    pub(super) fn next_reader(&self) -> Reader {
        let mut reader = self.reader();
        *reader = (reader.0 + 1, now());
        reader.0
    }

    pub(super) fn reader(&self) -> MutexGuard<'_, (Reader, Instant)> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the seat, if nobody has.
    pub(crate) fn take_seat(&self) -> Option<Seat> {
        self.seat().take()
    }

    /// Whether members wait besides the one who runs the body.
    pub(super) fn has_followers(&self) -> bool {
        let seated = usize::from(self.seated.load(Ordering::Relaxed));
        self.members.load(Ordering::Relaxed) > seated
    }

    /// A member takes the seat, if nobody has.
    pub(super) fn take_seat_as_member(&self) -> Option<Seat> {
        self.take_seat()
            .inspect(|_| self.seated.store(true, Ordering::Relaxed))
    }

    /// Waits until the last member has left; may wake early.
    pub(crate) async fn emptied(&self) {
        self.empty.notified().await;
    }

    fn seat(&self) -> MutexGuard<'_, Option<Seat>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
