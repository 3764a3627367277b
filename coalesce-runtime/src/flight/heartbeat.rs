//! The heartbeat: one task per process renews the leases of all its flights, in one batch per beat.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::core::Settings;
use super::fold::{Entry, Fold};
use crate::engine::ask::{RenewAnswer, RenewAsk};
use crate::engine::lease::{beat_of, lease_at};
use crate::format::envelope::Seen;
use crate::ports::coordinator::Coordinator;
use crate::words::clock::{Instant, now};
use crate::words::key::Key;
use crate::words::token::Token;

/// Renews the leases that this process holds. Its task lives only while there are any.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    coordinator: Arc<dyn Coordinator>,
    fold: Arc<Fold>,
    lease: Duration,
    retake_window: Duration,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    leases: HashMap<Token, Lease>,
    beating: bool,
}

/// A lease as this process believes in it.
#[derive(Debug)]
struct Lease {
    key: Key,
    seen: Seen,
    /// Just before the question that won the lock was sent.
    asked_at: Instant,
    pending: Duration,
    /// The last moment at which the lock was surely ours and not fenced.
    confirmed: Instant,
    /// Whether it has been said that the lock is another's.
    lost: bool,
    entry: Weak<Entry>,
}

/// The right to be renewed. Dropping it ends the renewals; the lock is another matter.
#[derive(Debug)]
pub(crate) struct Hold {
    heartbeat: Arc<Heartbeat>,
    token: Token,
}

/// What makes a process a leader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Election {
    pub(crate) token: Token,
    /// The state at the election.
    pub(crate) seen: Seen,
    /// Just before the question was sent: a leader believes in its lease from then, never from the reply.
    pub(crate) asked_at: Instant,
    /// The last moment at which the lock was surely ours and not fenced.
    pub(crate) confirmed: Instant,
}

impl Heartbeat {
    pub(crate) fn new(
        coordinator: Arc<dyn Coordinator>,
        fold: Arc<Fold>,
        settings: &Settings,
    ) -> Arc<Self> {
        Arc::new(Self {
            coordinator,
            fold,
            lease: settings.lease,
            retake_window: settings.retake_window(),
            held: Mutex::default(),
        })
    }

    /// Renews the lease of this election until the hold is dropped or `pending` has passed.
    pub(crate) fn hold(
        self: &Arc<Self>,
        election: Election,
        entry: &Arc<Entry>,
        pending: Duration,
    ) -> Hold {
        let Election {
            token,
            seen,
            asked_at,
            confirmed,
        } = election;
        let key = entry.key().clone();
        let lease = Lease {
            key,
            seen,
            asked_at,
            pending,
            confirmed,
            lost: false,
            entry: Arc::downgrade(entry),
        };
        let mut held = self.held();
        held.leases.insert(token, lease);
        if !held.beating {
            held.beating = true;
            tokio::spawn(Arc::clone(self).beat());
        }
        drop(held);
        Hold {
            heartbeat: Arc::clone(self),
            token,
        }
    }

    /// Ends all renewals and says which locks they were for.
    pub(crate) fn let_go_of_all(&self) -> Vec<(Key, Token)> {
        self.held()
            .leases
            .drain()
            .map(|(token, lease)| (lease.key, token))
            .collect()
    }

    async fn beat(self: Arc<Self>) {
        let mut cut_off = CutOff(Some(Arc::clone(&self)));
        while self.goes_on() {
            tokio::time::sleep(beat_of(self.lease)).await;
            let asked_at = now();
            let asks = self.asks(asked_at);
            if asks.is_empty() {
                continue;
            }
            // A beat without an answer is made up for by the next: three fit into a lease.
            if let Ok(answers) = self.coordinator.renew(&asks).await {
                for (ask, answer) in asks.iter().zip(answers) {
                    if let Ok(answer) = answer {
                        self.note(ask.token, answer, asked_at);
                    }
                }
            }
        }
        cut_off.0 = None;
    }

    /// Whether there is anything to renew. If not, the next hold starts the task again.
    fn goes_on(&self) -> bool {
        let mut held = self.held();
        held.beating = !held.leases.is_empty();
        held.beating
    }

    fn asks(&self, at: Instant) -> Vec<RenewAsk> {
        let clock = self.coordinator.clock();
        let ask = |(token, lease): (&Token, &Lease)| {
            let elapsed = at.saturating_duration_since(lease.asked_at);
            let new_lease = lease_at(elapsed, self.lease, lease.pending)?;
            // A beat takes a lock that is gone. Behind this moment that could undo another's outcome.
            let retake_until = lease.confirmed + self.retake_window;
            Some(RenewAsk {
                key: lease.key.clone(),
                token: *token,
                seen: lease.seen,
                lease: new_lease,
                retake_until: clock.server_surely_before(retake_until),
            })
        };
        self.held().leases.iter().filter_map(ask).collect()
    }

    fn note(&self, token: Token, answer: RenewAnswer, asked_at: Instant) {
        let mut held = self.held();
        let Some(lease) = held.leases.get_mut(&token) else {
            return;
        };
        if answer == RenewAnswer::Held {
            lease.confirmed = asked_at;
            return;
        }
        // The key is another's, or its outcome will not count for newcomers: they ask for themselves.
        let entry = lease.entry.upgrade();
        if answer == RenewAnswer::Lost && !std::mem::replace(&mut lease.lost, true) {
            tracing::warn!(
                namespace = &**lease.key.namespace(),
                "the lease of a running flight was lost"
            );
        }
        drop(held);
        if let Some(entry) = entry {
            self.fold.detach(&entry);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the next hold start a new task when this one was dropped with its runtime.
struct CutOff(Option<Arc<Heartbeat>>);

impl Drop for CutOff {
    fn drop(&mut self) {
        if let Some(heartbeat) = &self.0 {
            heartbeat.held().beating = false;
        }
    }
}

impl Hold {
    /// The last moment at which the lock was surely ours and not fenced.
    pub(crate) fn confirmed(&self) -> Option<Instant> {
        self.heartbeat
            .held()
            .leases
            .get(&self.token)
            .map(|lease| lease.confirmed)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.heartbeat.held().leases.remove(&self.token);
    }
}
