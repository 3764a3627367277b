//! The fold: callers of one key in one process share one entry, and with it one conversation.
//!
//! It holds only work in progress, never results, so it cannot disagree with Redis about freshness.
//! An entry lives as long as somebody waits in it or a driver works for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot, watch};

use super::leader::Report;
use super::member::Member;
use super::settlement::Settlement;
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
    /// Whether a driver task works for this entry. Changed only under the fold's lock.
    driven: AtomicBool,
    /// Whether it has left the fold.
    closed: AtomicBool,
    /// Rung when the last member leaves.
    empty: Notify,
}

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

/// The place of the one who runs the body. Dropping it without a report abandons the flight.
#[derive(Debug)]
pub(crate) struct Seat {
    entry: Arc<Entry>,
    fold: Arc<Fold>,
    report: oneshot::Sender<Report>,
}

impl Seat {
    pub(crate) fn new(
        fold: &Arc<Fold>,
        entry: &Arc<Entry>,
        report: oneshot::Sender<Report>,
    ) -> Self {
        Self {
            entry: Arc::clone(entry),
            fold: Arc::clone(fold),
            report,
        }
    }

    /// The body has ended: nobody may join a flight that is over.
    pub(crate) fn close(&self) {
        self.fold.close(&self.entry);
    }

    /// Whether other callers of this process wait for the outcome.
    pub(crate) fn has_followers(&self) -> bool {
        self.entry.members.load(Ordering::Relaxed) > 1
    }

    /// Hands the outcome to the driver.
    pub(crate) fn report(self, report: Report) {
        // A driver that is gone has settled its entry already.
        let _ = self.report.send(report);
    }
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
        if first {
            entry.stage.send_replace(Stage::Working);
        }
        let stage = entry.stage.subscribe();
        Member {
            fold: Arc::clone(self),
            entry,
            stage,
            reads: first,
            after,
        }
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
    fn close(&self, entry: &Arc<Entry>) {
        let _entries = self.lock();
        entry.closed.store(true, Ordering::Relaxed);
    }

    /// Newcomers open an entry of their own and wait for nothing; those inside go on waiting.
    pub(crate) fn detach(&self, entry: &Arc<Entry>) {
        self.remove(entry);
    }

    /// The same for whatever entry `key` has, because somebody here invalidated it.
    pub(crate) fn detach_key(&self, key: &Key) {
        if let Some(entry) = self.lock().remove(&(Lane::Shared, key.clone())) {
            entry.closed.store(true, Ordering::Relaxed);
        }
    }

    /// A driver starts to work for the entry: it lives on without members.
    pub(crate) fn drive(&self, entry: &Entry) {
        let _entries = self.lock();
        entry.driven.store(true, Ordering::Relaxed);
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
    pub(super) fn leave(&self, entry: &Arc<Entry>, reads: bool) {
        let mut entries = self.lock();
        let last = entry.members.fetch_sub(1, Ordering::Relaxed) == 1;
        if last && !entry.driven.load(Ordering::Relaxed) {
            remove_from(&mut entries, entry);
        } else if last {
            entry.empty.notify_one();
        } else if reads {
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
            driven: AtomicBool::new(false),
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

    /// Takes the place of a reader that went away, if nobody has.
    pub(super) fn claim_reading(&self) -> bool {
        self.stage.send_if_modified(|stage| {
            let vacant = matches!(stage, Stage::Vacant);
            if vacant {
                *stage = Stage::Working;
            }
            vacant
        })
    }

    /// Takes the seat, if nobody has.
    pub(crate) fn take_seat(&self) -> Option<Seat> {
        self.seat().take()
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
        fold.detach_key(&key());
        let after = fold.join(Lane::Shared, &key());
        assert!(after.reads() && after.after.is_none());
    }
}
