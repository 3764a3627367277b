//! The fold: callers of one key in one process share one entry, and with it one conversation.
//!
//! It holds only work in progress, never results, so it cannot disagree with Redis about freshness.
//! An entry lives as long as somebody waits in it or a driver works for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::member::Member;
use super::seat::Seat;
use super::settlement::Settlement;
use crate::words::clock::{Instant, now};
use crate::words::key::Key;

/// What an entry is for. Entries of different lanes never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Ordinary calls: one driver talks to the coordinator for all of them.
    Shared,
    /// Callers that fell back to running the body: one run for this process.
    Solo,
    /// The refresh behind stale answers.
    Refresh,
}

/// Every entry of this process that can still be joined.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    entries: Mutex<HashMap<(Lane, Key), Arc<Entry>>>,
}

/// One unit of shared work in this process.
#[derive(Debug)]
pub(crate) struct Entry {
    lane: Lane,
    key: Key,
    stage: watch::Sender<Stage>,
    seat: Mutex<Option<Seat>>,
    /// Callers that wait. Changed only under the fold's lock.
    members: AtomicUsize,
    /// Whether the one who runs the body is among the members, or has gone away.
    seated: AtomicBool,
    /// Whether a driver task works for this entry. Changed only under the fold's lock.
    driven: AtomicBool,
    /// Which member reads, and since when. Changed only under the fold's lock.
    reader: Mutex<(Reader, Instant)>,
    /// Whether it has left the fold.
    closed: AtomicBool,
    /// Rung when the last member leaves.
    empty: Notify,
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

impl Fold {
    /// Joins the entry of `key`, or opens one. The first member is to read.
    pub(crate) fn join(self: &Arc<Self>, lane: Lane, key: &Key) -> Member {
        let mut entries = self.lock();
        let previous = entries.get(&(lane, key.clone()));
        let (entry, after) = match previous {
            Some(entry) if !entry.closed.load(Ordering::Relaxed) => (Arc::clone(entry), None),
            over => {
                let after = over.map(|entry| entry.stage.subscribe());
                let entry = Arc::new(Entry::new(lane, key.clone()));
                entries.insert((lane, key.clone()), Arc::clone(&entry));
                (entry, after)
            }
        };
        let first = entry.members.fetch_add(1, Ordering::Relaxed) == 0
            && !entry.driven.load(Ordering::Relaxed);
        let mut reads = 0;
        if first {
            entry.stage.send_replace(Stage::Working);
            reads = entry.next_reader();
        }
        let stage = entry.stage.subscribe();
        Member {
            fold: Arc::clone(self),
            entry,
            stage,
            reads,
            seated: false,
            after,
        }
    }

    /// Another reader takes the place of one that went away or that keeps silent, if nobody has. 0: no.
    pub(super) fn claim_reading(&self, entry: &Entry) -> Reader {
        let _entries = self.lock();
        let waits = match *entry.stage.borrow() {
            Stage::Vacant => true,
            Stage::Working => entry.reader().1 + PATIENCE <= now(),
            Stage::Offered | Stage::Settled(_) => false,
        };
        if !waits || entry.driven.load(Ordering::Relaxed) {
            return 0;
        }
        entry.stage.send_replace(Stage::Working);
        entry.next_reader()
    }

    /// Entries that can still be joined.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Ends an entry: those who wait are told, and nobody joins any more.
    pub(crate) fn settle(&self, entry: &Arc<Entry>, settlement: Settlement) {
        self.remove(entry);
        entry
            .stage
            .send_replace(Stage::Settled(Arc::new(settlement)));
    }

    /// The body is over but its outcome is not stored yet: newcomers open an entry of their own,
    /// which waits for this one to settle.
    pub(super) fn close(&self, entry: &Arc<Entry>) {
        let _entries = self.lock();
        entry.closed.store(true, Ordering::Relaxed);
    }

    /// Newcomers open an entry of their own and wait for nothing; those inside go on waiting.
    pub(crate) fn detach(&self, entry: &Arc<Entry>) {
        self.remove(entry);
    }

    /// The same for whatever entry `key` has, because somebody here invalidated it.
    pub(crate) fn detach_key(&self, key: &Key) {
        let mut entries = self.lock();
        for lane in [Lane::Shared, Lane::Solo] {
            if let Some(entry) = entries.remove(&(lane, key.clone())) {
                entry.closed.store(true, Ordering::Relaxed);
            }
        }
    }

    /// A driver starts to work for the entry: it lives on without members. `false` when another member
    /// has taken that reader's place.
    pub(super) fn drive(&self, entry: &Entry, reader: Reader) -> bool {
        let _entries = self.lock();
        let present = entry.reader().0 == reader;
        entry.driven.fetch_or(present, Ordering::Relaxed);
        present
    }

    /// Whether the entry has no member left; if so it leaves the fold, so that nobody joins it either.
    pub(crate) fn leave_if_empty(&self, entry: &Arc<Entry>) -> bool {
        let mut entries = self.lock();
        let empty = entry.members.load(Ordering::Relaxed) == 0;
        if empty {
            remove_from(&mut entries, entry);
        }
        empty
    }

    /// A member leaves. The last one closes an entry that nobody works for; a reader makes room for another.
    pub(super) fn leave(&self, entry: &Arc<Entry>, reads: Reader, seated: bool) {
        let mut entries = self.lock();
        if seated {
            entry.seated.store(false, Ordering::Relaxed);
        }
        let last = entry.members.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && !entry.driven.load(Ordering::Relaxed) {
            remove_from(&mut entries, entry);
        } else if last {
            entry.empty.notify_one();
        } else if reads > 0 && entry.reader().0 == reads {
            entry.stage.send_replace(Stage::Vacant);
        }
    }

    /// Takes the seat back when nobody is left to take it. A flight that has begun goes on.
    pub(crate) fn withdraw_if_empty(&self, entry: &Arc<Entry>) {
        let mut entries = self.lock();
        if entry.members.load(Ordering::Relaxed) == 0 && entry.take_seat().is_some() {
            remove_from(&mut entries, entry);
        }
    }

    fn remove(&self, entry: &Arc<Entry>) {
        remove_from(&mut self.lock(), entry);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Lane, Key), Arc<Entry>>> {
        // Nothing that holds this lock can leave the map half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove_from(entries: &mut HashMap<(Lane, Key), Arc<Entry>>, entry: &Arc<Entry>) {
    entry.closed.store(true, Ordering::Relaxed);
    let place = (entry.lane, entry.key.clone());
    // A newer entry of the same key may stand there by now.
    if entries
        .get(&place)
        .is_some_and(|current| Arc::ptr_eq(current, entry))
    {
        entries.remove(&place);
    }
}

impl Entry {
    fn new(lane: Lane, key: Key) -> Self {
        Self {
            lane,
            key,
            stage: watch::Sender::new(Stage::Working),
            seat: Mutex::new(None),
            members: AtomicUsize::new(0),
            seated: AtomicBool::new(false),
            driven: AtomicBool::new(false),
            reader: Mutex::new((0, now())),
            closed: AtomicBool::new(false),
            empty: Notify::new(),
        }
    }

    pub(crate) const fn key(&self) -> &Key {
        &self.key
    }

    /// The driver leads: whoever takes the seat brings the body.
    pub(crate) fn offer(&self, seat: Seat) {
        *self.seat() = Some(seat);
        self.stage.send_replace(Stage::Offered);
    }

    /// Whether a driver task works for this entry.
    pub(super) fn is_driven(&self) -> bool {
        self.driven.load(Ordering::Relaxed)
    }

    fn next_reader(&self) -> Reader {
        let mut reader = self.reader();
        *reader = (reader.0 + 1, now());
        reader.0
    }

    fn reader(&self) -> MutexGuard<'_, (Reader, Instant)> {
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

#[cfg(test)]
mod tests {
    use super::super::settlement::Verdict;
    use super::*;

    fn key() -> Key {
        Key::new("n", &[&1])
    }

    fn fold() -> Arc<Fold> {
        Arc::default()
    }

    #[test]
    fn the_first_member_reads_and_the_others_wait() {
        let fold = fold();
        let (first, second) = (
            fold.join(Lane::Shared, &key()),
            fold.join(Lane::Shared, &key()),
        );
        assert!(first.reads() && !second.reads());
        assert!(fold.join(Lane::Solo, &key()).reads(), "lanes never meet");
    }

    #[test]
    fn a_reader_that_goes_away_is_replaced_by_exactly_one_member() {
        let fold = fold();
        let reader = fold.join(Lane::Shared, &key());
        let (mut one, mut two) = (
            fold.join(Lane::Shared, &key()),
            fold.join(Lane::Shared, &key()),
        );
        drop(reader);
        assert!(one.claim_reading());
        assert!(!two.claim_reading());
        assert!(!fold.join(Lane::Shared, &key()).reads());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_was_replaced_decides_nothing_any_more() {
        let fold = fold();
        let [mut silent, mut other] = [(); 2].map(|()| fold.join(Lane::Shared, &key()));
        tokio::time::advance(PATIENCE).await;
        assert!(other.claim_reading() && !silent.hand_over() && other.hand_over());
    }

    #[test]
    fn nothing_is_left_when_everybody_has_gone() {
        let fold = fold();
        let members: Vec<_> = (0..3).map(|_| fold.join(Lane::Shared, &key())).collect();
        assert_eq!(fold.len(), 1);
        drop(members);
        assert_eq!(fold.len(), 0);
    }

    #[test]
    fn a_driven_entry_stays_until_its_driver_sees_that_it_is_empty() {
        let fold = fold();
        let mut member = fold.join(Lane::Shared, &key());
        let entry = Arc::clone(member.entry());
        member.hand_over();
        assert!(!fold.leave_if_empty(&entry));
        drop(member);
        assert_eq!(fold.len(), 1);
        assert!(fold.leave_if_empty(&entry));
        assert_eq!(fold.len(), 0);
    }

    #[test]
    fn nobody_joins_a_flight_whose_body_has_ended() {
        let fold = fold();
        let mut before = fold.join(Lane::Shared, &key());
        before.hand_over();
        fold.close(before.entry());
        let after = fold.join(Lane::Shared, &key());
        assert!(after.reads() && after.after.is_some());
        fold.settle(before.entry(), Settlement::for_all(Verdict::StartAgain));
        assert_eq!(fold.len(), 1, "the newer entry stays");
    }

    #[test]
    fn newcomers_behind_an_invalidation_wait_for_nothing() {
        let fold = fold();
        let mut before = fold.join(Lane::Shared, &key());
        before.hand_over();
        let mut alone = fold.join(Lane::Solo, &key());
        alone.hand_over();
        fold.detach_key(&key());
        for lane in [Lane::Shared, Lane::Solo] {
            let after = fold.join(lane, &key());
            assert!(after.reads() && after.after.is_none());
        }
    }
}
