//! Looks: what a caller finds stored, for itself or for all members of its entry, and where that leads.

use std::sync::Arc;

use bytes::Bytes;

use super::entry::Lane;
use super::member::Member;
use super::settlement::{Settlement, Stored, Verdict};
use super::turn::Turn;
use super::waiter::Waiter;
use crate::engine::reading::{Reading, read, reads_alike};
use crate::format::envelope::{Envelope, Seen};
use crate::ports::event::Incident;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;
use crate::words::policy::Policy;

impl Waiter {
    /// Reads the state for all members of the entry, and starts a driver if that is not the end.
    pub(super) async fn read(&self, member: &mut Member) {
        member.predecessor_settled().await;
        if self.lane == Lane::Solo {
            let limit = self.fallback();
            self.start(member, move |driver| driver.run_solo(None, limit));
            return;
        }
        if !self.may_find_something() {
            // What a flight has left behind is for its followers; a newcomer need not look at it.
            self.start(member, |driver| driver.share(None));
            return;
        }
        let asked_at = now();
        match self.core.coordinator.read(&self.key).await {
            Ok(state) => self.found(member, state.as_ref(), asked_at),
            Err(fault) => self.found_nobody(member, fault),
        }
    }

    /// What this caller does when more is in progress here than may be: what is stored is an answer, and
    /// everything else is its own business.
    pub(super) async fn without_a_place(&self) -> Turn {
        if self.may_find_something() {
            let state = self.core.coordinator.read(&self.key).await.ok().flatten();
            if let Some(Verdict::Stored(stored, _)) = self.served_from(state.as_ref()).1 {
                return stored.into();
            }
        }
        Turn::Capped
    }

    /// Whether what is stored can be an answer.
    pub(super) fn may_find_something(&self) -> bool {
        let stored = self.policy.clocks().retains() || !self.policy.keep_errors.is_zero();
        stored && self.lane == Lane::Shared
    }

    fn found(&self, member: &mut Member, state: Option<&Bytes>, asked_at: Instant) {
        let (mark, verdict) = self.served_from(state);
        match verdict {
            Some(verdict) => member.settle(Settlement {
                verdict,
                // It may have been invalidated before others joined who came while it was on its way.
                for_arrivals_until: Some(asked_at),
            }),
            None => self.start(member, |driver| driver.share(Some(mark))),
        }
    }

    /// The mark of a state, and what it is to this caller; `None`: not enough.
    fn served_from(&self, state: Option<&Bytes>) -> (Seen, Option<Verdict>) {
        let mark = Seen::of_state(state.map(|bytes| &bytes[..]));
        let readable = state.filter(|_| self.unwanted != Some(mark));
        let envelope = readable.and_then(|bytes| match Envelope::decode(&self.key, bytes) {
            Ok(envelope) => Some(envelope),
            Err(_) => {
                self.core.tell(&self.key, Incident::Undecodable);
                None
            }
        });
        (
            mark,
            envelope.and_then(|envelope| self.served(envelope, mark)),
        )
    }

    fn served(&self, envelope: Envelope, mark: Seen) -> Option<Verdict> {
        let now = self.core.coordinator.clock(&self.key).server_at(now());
        let stored = match read(&envelope, &self.policy, now) {
            Reading::Fresh | Reading::KeptError => Stored::Fresh(envelope.into()),
            Reading::Stale { refresh } if self.takes_stale => Stored::Stale {
                outcome: envelope.into(),
                refresh: refresh.then_some(mark),
            },
            Reading::GoAlone => return Some(Verdict::Marked(Arc::clone(&self.policy))),
            Reading::Stale { .. } | Reading::Miss => return None,
        };
        Some(Verdict::Stored(stored, Arc::clone(&self.policy)))
    }

    fn found_nobody(&self, member: &mut Member, fault: Fault) {
        self.start(member, |driver| driver.go_on_without(fault, None));
    }

    /// Whether this caller takes what may have been read for another one, by that one's policy.
    pub(super) fn takes(&self, stored: &Stored, policy: &Arc<Policy>) -> bool {
        let too_old = matches!(stored, Stored::Stale { .. }) && !self.takes_stale;
        self.reads_like(policy) && !too_old && Some(stored.mark()) != self.unwanted
    }

    /// Whether that policy means the same by what is stored as this caller's own.
    pub(super) fn reads_like(&self, policy: &Arc<Policy>) -> bool {
        Arc::ptr_eq(policy, &self.policy) || reads_alike(policy, &self.policy)
    }
}
