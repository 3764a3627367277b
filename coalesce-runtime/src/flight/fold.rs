//! The fold: callers of one key in one process share one entry, and with it one conversation.
//!
//! It holds only work in progress, never results, so it cannot disagree with Redis about freshness.
//! An entry lives as long as somebody waits in it or a driver works for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::entry::{Entry, Lane, PATIENCE, Reader, Room, Stage};
use super::member::Member;
use super::settlement::{Outcome, Settlement};
use crate::words::clock::{Instant, now};
use crate::words::key::Key;

/// Every entry of this process that can still be joined.
#[derive(Debug)]
pub(crate) struct Fold {
    limits: Limits,
    entries: Mutex<HashMap<(Lane, Key), Arc<Entry>>>,
    /// How many entries there are, those included that have left the fold and are still worked for.
    taken: Arc<AtomicUsize>,
}

/// How much may be in progress at once, so that a flood ends in calls that run their bodies and not in a process
/// without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) entries: usize,
    /// Callers of one entry.
    pub(crate) members: usize,
}

impl Fold {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: Mutex::default(),
            taken: Arc::default(),
        }
    }

    /// Joins the entry of `key`, or opens one. The first member is to read. `None`: there is no room.
    ///
    /// Who had a place before and `returns` gets one: to send them all to their bodies would be a herd.
    pub(crate) fn join(self: &Arc<Self>, lane: Lane, key: &Key, returns: bool) -> Option<Member> {
        let mut entries = self.lock();
        let room = returns || self.taken.load(Ordering::Relaxed) < self.limits.entries;
        let previous = entries.get(&(lane, key.clone()));
        let (entry, after) = match previous {
            Some(entry) if !entry.is_closed() => {
                if !returns && entry.members.load(Ordering::Relaxed) >= self.limits.members {
                    return None;
                }
                (Arc::clone(entry), None)
            }
            None if !room => return None,
            over => {
                let after = over.map(|entry| entry.stage.subscribe());
                let room = Room::taken_of(&self.taken);
                let entry = Arc::new(Entry::new(lane, key.clone(), room));
                entries.insert((lane, key.clone()), Arc::clone(&entry));
                (entry, after)
            }
        };
        let first = entry.members.fetch_add(1, Ordering::Relaxed) == 0
            && !entry.driven.load(Ordering::Relaxed);
        let mut reads = 0;
        if first {
            entry.stands(Stage::Working);
            reads = entry.next_reader();
        }
        Some(self.member_of(entry, reads, after))
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
        entry.stands(Stage::Working);
        entry.next_reader()
    }

    /// Entries that can still be joined.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Callers that wait in them, those who run a body included.
    pub(crate) fn members(&self) -> usize {
        let members = |entry: &Arc<Entry>| entry.members.load(Ordering::Relaxed);
        self.lock().values().map(members).sum()
    }

    /// Ends an entry: those who wait are told, and nobody joins any more.
    pub(crate) fn settle(&self, entry: &Arc<Entry>, settlement: Settlement) {
        self.remove(entry);
        entry.stands(Stage::Settled(Arc::new(settlement)));
    }

    /// The body is over but its outcome is not stored yet: newcomers open an entry of their own,
    /// which waits for this one to settle.
    pub(super) fn close(&self, entry: &Arc<Entry>) {
        let _entries = self.lock();
        entry.closed.store(true, Ordering::Relaxed);
    }

    /// Whether callers in another lane may wait for the flight of this entry. Nobody but its members waits for a run that
    /// is no flight.
    pub(super) fn is_watched(&self, entry: &Arc<Entry>) -> bool {
        entry.lane != Lane::Solo && asking_beside(&self.lock(), entry).next().is_some()
    }

    /// Those in another lane who wait for the flight of this entry hear that its value is not stored. They have it here.
    pub(super) fn lend(&self, entry: &Arc<Entry>, spare: &Outcome) {
        for other in asking_beside(&self.lock(), entry) {
            other.is_lent(spare);
        }
    }

    /// The body of this entry runs in this process from now on.
    pub(super) fn runs_here(&self, entry: &Entry) {
        let _entries = self.lock();
        entry.runs_here.store(true, Ordering::Relaxed);
    }

    /// The same, unless the body of one in another lane does already: that one. Both have asked for themselves, and
    /// without a coordinator they have nobody else to be one flight by.
    pub(super) fn runs_here_or_elsewhere(&self, entry: &Arc<Entry>) -> Option<Arc<Entry>> {
        let entries = self.lock();
        let runs = |other: &&Arc<Entry>| other.runs_here.load(Ordering::Relaxed);
        let other = asking_beside(&entries, entry).find(|other| runs(other) && !other.is_closed());
        entry.runs_here.store(other.is_none(), Ordering::Relaxed);
        other.cloned()
    }

    /// Joins this very entry; `None`: its body has ended by now.
    pub(crate) fn join_this(self: &Arc<Self>, entry: Arc<Entry>) -> Option<Member> {
        let _entries = self.lock();
        (!entry.is_closed()).then(|| {
            entry.members.fetch_add(1, Ordering::Relaxed);
            self.member_of(entry, 0, None)
        })
    }

    fn member_of(
        self: &Arc<Self>,
        entry: Arc<Entry>,
        reads: Reader,
        after: Option<watch::Receiver<Stage>>,
    ) -> Member {
        Member {
            fold: Arc::clone(self),
            stage: entry.stage.subscribe(),
            entry,
            reads,
            seated: false,
            after,
        }
    }

    /// Newcomers open an entry of their own and wait for nothing. Those inside who had arrived by `until`, as far as
    /// that is known, go on waiting; the others start again.
    pub(super) fn fence(&self, entry: &Arc<Entry>, until: Option<Instant>) {
        self.remove(entry);
        if let Some(until) = until {
            entry.is_for_arrivals_until(until);
        }
    }

    /// The same for whatever entries `key` has, because somebody here has replaced its state.
    pub(crate) fn fence_key(&self, key: &Key, until: Instant) {
        let lanes = [Lane::Shared, Lane::Requested, Lane::Solo];
        let entries = lanes.map(|lane| self.lock().get(&(lane, key.clone())).cloned());
        for entry in entries.into_iter().flatten() {
            self.fence(&entry, Some(until));
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
            entry.stands(Stage::Vacant);
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

/// The other entries of the key that ask the coordinator, or may yet.
fn asking_beside<'a>(
    entries: &'a HashMap<(Lane, Key), Arc<Entry>>,
    entry: &'a Arc<Entry>,
) -> impl Iterator<Item = &'a Arc<Entry>> {
    let of = |lane| entries.get(&(lane, entry.key.clone()));
    let all = [Lane::Shared, Lane::Requested].into_iter().filter_map(of);
    all.filter(|other| !Arc::ptr_eq(other, entry))
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

#[cfg(test)]
mod tests {
    use super::super::settlement::Verdict;
    use super::*;

    fn key() -> Key {
        Key::new("n", &[&1])
    }

    fn fold() -> Arc<Fold> {
        let (entries, members) = (10, 10);
        Arc::new(Fold::new(Limits { entries, members }))
    }

    fn join(fold: &Arc<Fold>, lane: Lane, key: &Key) -> Member {
        fold.join(lane, key, false).unwrap()
    }

    #[test]
    fn the_first_member_reads_and_the_others_wait() {
        let fold = fold();
        let (first, second) = (
            join(&fold, Lane::Shared, &key()),
            join(&fold, Lane::Shared, &key()),
        );
        assert!(first.reads() && !second.reads());
        assert!(join(&fold, Lane::Solo, &key()).reads(), "a lane of its own");
    }

    #[test]
    fn a_reader_that_goes_away_is_replaced_by_exactly_one_member() {
        let fold = fold();
        let reader = join(&fold, Lane::Shared, &key());
        let (mut one, mut two) = (
            join(&fold, Lane::Shared, &key()),
            join(&fold, Lane::Shared, &key()),
        );
        drop(reader);
        assert!(one.claim_reading());
        assert!(!two.claim_reading());
        assert!(!join(&fold, Lane::Shared, &key()).reads());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_was_replaced_decides_nothing_any_more() {
        let fold = fold();
        let [mut silent, mut other] = [(); 2].map(|()| join(&fold, Lane::Shared, &key()));
        tokio::time::advance(PATIENCE).await;
        assert!(other.claim_reading() && !silent.hand_over() && other.hand_over());
    }

    #[test]
    fn nothing_is_left_when_everybody_has_gone() {
        let fold = fold();
        let members: Vec<_> = (0..3).map(|_| join(&fold, Lane::Shared, &key())).collect();
        assert_eq!(fold.len(), 1);
        drop(members);
        assert_eq!(fold.len(), 0);
    }

    #[test]
    fn a_driven_entry_stays_until_its_driver_sees_that_it_is_empty() {
        let fold = fold();
        let mut member = join(&fold, Lane::Shared, &key());
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
        let mut before = join(&fold, Lane::Shared, &key());
        before.hand_over();
        fold.close(before.entry());
        let after = join(&fold, Lane::Shared, &key());
        assert!(after.reads() && after.after.is_some());
        fold.settle(before.entry(), Settlement::for_all(Verdict::StartAgain));
        assert_eq!(fold.len(), 1, "the newer entry stays");
    }

    #[test]
    fn newcomers_behind_an_invalidation_wait_for_nothing() {
        let fold = fold();
        let mut before = join(&fold, Lane::Shared, &key());
        before.hand_over();
        let mut alone = join(&fold, Lane::Solo, &key());
        alone.hand_over();
        fold.fence_key(&key(), now());
        for lane in [Lane::Shared, Lane::Solo] {
            let after = join(&fold, lane, &key());
            assert!(after.reads() && after.after.is_none());
        }
    }

    #[test]
    fn an_entry_that_nobody_can_join_any_more_takes_room_until_it_is_over() {
        let (entries, members) = (1, 9);
        let fold = Arc::new(Fold::new(Limits { entries, members }));
        let other = || fold.join(Lane::Shared, &Key::new("n", &[&2]), false);
        let mut before = join(&fold, Lane::Shared, &key());
        before.hand_over();
        fold.fence_key(&key(), now());
        assert_eq!((fold.len(), other().is_none()), (0, true));
        drop(before);
        assert!(other().is_some());
    }

    #[test]
    fn who_had_a_place_finds_one_again_though_the_fold_is_full() {
        let fold = Arc::new(Fold::new(Limits {
            entries: 1,
            members: 9,
        }));
        let _other = fold.join(Lane::Shared, &Key::new("n", &[&2]), false);
        assert!(fold.join(Lane::Shared, &key(), false).is_none());
        let member = fold.join(Lane::Shared, &key(), true).unwrap();
        assert!(member.reads());
        assert!(
            fold.join(Lane::Shared, &key(), true)
                .is_some_and(|next| !next.reads())
        );
    }
}
