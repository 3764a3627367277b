//! The heartbeat: one task per process renews the leases of all its flights, in one batch per beat.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::timeout;

use super::core::{Headcount, Settings};
use super::entry::Entry;
use super::fold::Fold;
use super::journal::{Journal, Line};
use crate::engine::ask::{RenewAnswer, RenewAsk};
use crate::engine::lease::{beat_of, lease_at};
use crate::format::envelope::Seen;
use crate::ports::coordinator::Coordinator;
use crate::ports::event::{Event, Incident};
use crate::ports::observer::Observers;
use crate::words::clock::{Instant, now};
use crate::words::key::Key;
use crate::words::token::Token;

/// Renews the leases that this process holds. Its task lives only while there are any.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    coordinator: Arc<dyn Coordinator>,
    fold: Arc<Fold>,
    journal: Arc<Journal>,
    observers: Arc<Observers>,
    lease: Duration,
    retake_window: Duration,
    held: Mutex<Held>,
    /// Beats that have no answer yet.
    on_the_way: Headcount,
}

#[derive(Debug, Default)]
struct Held {
    leases: HashMap<Token, Lease>,
    /// The task that beats, and when it was last heard of.
    beating: Option<(Task, Instant)>,
    /// How many tasks there have been.
    tasks: Task,
}

/// The number of a task that beats.
type Task = u64;

/// A lease as this process believes in it.
#[derive(Debug)]
struct Lease {
    key: Key,
    seen: Seen,
    /// Just before the question that won the lock was sent.
    asked_at: Instant,
    /// How long it may be renewed; zero: not at all, or not any more.
    pending: Duration,
    /// The last moment at which the lock was surely ours and not fenced.
    confirmed: Instant,
    /// Whether it has been said that the lock is another's.
    lost: bool,
    entry: Weak<Entry>,
}

/// A lock that this process has, or may have. As long as this lives, a shutdown hands it over.
#[derive(Debug)]
pub(crate) struct Hold {
    heartbeat: Arc<Heartbeat>,
    election: Election,
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
        journal: Arc<Journal>,
        observers: Arc<Observers>,
        settings: &Settings,
    ) -> Arc<Self> {
        Arc::new(Self {
            coordinator,
            fold,
            journal,
            observers,
            lease: settings.lease,
            retake_window: settings.retake_window(),
            held: Mutex::default(),
            on_the_way: Headcount::default(),
        })
    }

    /// Renews the lease of this election until the hold rests, is dropped, or `pending` has passed.
    pub(crate) fn hold(
        self: &Arc<Self>,
        election: Election,
        entry: &Arc<Entry>,
        pending: Duration,
    ) -> Hold {
        let hold = self.note_down(election, entry, pending);
        self.tend();
        hold
    }

    /// Notes down an election that may have been won though nobody said so. It is not renewed.
    pub(crate) fn hold_perhaps(self: &Arc<Self>, election: Election, entry: &Arc<Entry>) -> Hold {
        self.note_down(election, entry, Duration::ZERO)
    }

    fn note_down(
        self: &Arc<Self>,
        election: Election,
        entry: &Arc<Entry>,
        pending: Duration,
    ) -> Hold {
        let lease = Lease {
            key: entry.key().clone(),
            seen: election.seen,
            asked_at: election.asked_at,
            pending,
            confirmed: election.confirmed,
            lost: false,
            entry: Arc::downgrade(entry),
        };
        self.held().leases.insert(election.token, lease);
        Hold {
            heartbeat: Arc::clone(self),
            election,
        }
    }

    /// Starts the task, when there is none or it is silent: it may live on a runtime that nobody polls any more. Whoever
    /// leads looks after it once in a beat.
    pub(crate) fn tend(self: &Arc<Self>) {
        let mut held = self.held();
        let silence = held.beating.map(|(_, at)| now() - at);
        let lives = silence.is_some_and(|silence| silence < beat_of(self.lease) * 3 / 2);
        if lives || held.leases.is_empty() {
            return;
        }
        held.tasks += 1;
        held.beating = Some((held.tasks, now()));
        tokio::spawn(Arc::clone(self).beat(held.tasks));
    }

    /// Ends all renewals and says which locks they were for.
    pub(crate) fn let_go_of_all(&self) -> Vec<(Key, Token)> {
        self.held()
            .leases
            .drain()
            .map(|(token, lease)| (lease.key, token))
            .collect()
    }

    /// Waits for the beats on their way. Such a one takes a lock that is freed before it arrives, for nobody.
    pub(crate) async fn arrived(&self) {
        // Each has that long; its task may live on a runtime that nobody polls any more.
        let _ = timeout(self.coordinator.deadline(), self.on_the_way.none()).await;
    }

    async fn beat(self: Arc<Self>, task: Task) {
        let _cut_off = CutOff(Arc::clone(&self), task);
        let mut pause = self.until_due();
        while self.goes_on(task) {
            tokio::time::sleep(std::mem::replace(&mut pause, beat_of(self.lease))).await;
            // Counted first: what rests from now on is not among the asks.
            let _on_the_way = self.on_the_way.one_more();
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
    }

    /// Whether there is anything to renew, and this task is to do it. If not, the next hold starts another.
    fn goes_on(&self, task: Task) -> bool {
        let mut held = self.held();
        if !held.is_beaten_by(task) {
            return false;
        }
        let goes_on = !held.leases.is_empty();
        // At once, so that a hold that comes now knows.
        held.beating = goes_on.then(|| (task, now()));
        goes_on
    }

    /// Until the first beat of a task. It may take another's place, with leases that have waited for long.
    fn until_due(&self) -> Duration {
        let beat = beat_of(self.lease);
        let until = |lease: &Lease| (lease.confirmed + beat).saturating_duration_since(now());
        let held = self.held();
        let renewed = held.leases.values().filter(|lease| lease.is_renewed());
        renewed.map(until).min().unwrap_or(beat)
    }

    fn asks(&self, at: Instant) -> Vec<RenewAsk> {
        let ask = |(token, lease): (&Token, &Lease)| {
            let elapsed = at.saturating_duration_since(lease.asked_at);
            let new_lease = lease_at(elapsed, self.lease, lease.pending)?;
            // A beat takes a lock that is gone. Behind this moment that could undo another's outcome.
            let retake_until = lease.confirmed + self.retake_window;
            let clock = self.coordinator.clock(&lease.key);
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
        let lease = held.leases.get_mut(&token);
        let Some(lease) = lease.filter(|lease| lease.is_renewed()) else {
            return;
        };
        if answer == RenewAnswer::Held {
            lease.confirmed = asked_at;
            return;
        }
        // The key is another's, or its outcome will not count for newcomers: they ask for themselves.
        let entry = lease.entry.upgrade();
        let until = match answer {
            RenewAnswer::Fenced { at } => self.coordinator.clock(&lease.key).surely_before(at),
            RenewAnswer::Held | RenewAnswer::Lost => Some(lease.confirmed),
        };
        let is_news = answer == RenewAnswer::Lost && !std::mem::replace(&mut lease.lost, true);
        let namespace = is_news.then(|| Arc::clone(lease.key.namespace()));
        drop(held);
        if let Some(namespace) = namespace {
            self.journal.say(&namespace, Line::LeaseLost);
            let lost = Event::Incident(Incident::LeaseLost);
            self.observers.record(&namespace, &lost);
        }
        if let Some(entry) = entry {
            // Those who came behind that, and before this beat, would wait for nothing.
            self.fold.fence(&entry, until);
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    fn is_renewed(&self) -> bool {
        !self.pending.is_zero()
    }
}

impl Held {
    fn is_beaten_by(&self, task: Task) -> bool {
        self.beating.is_some_and(|(beating, _)| beating == task)
    }
}

/// Makes the next hold start a new task when this one has ended, be it with its runtime.
struct CutOff(Arc<Heartbeat>, Task);

impl Drop for CutOff {
    fn drop(&mut self) {
        let mut held = self.0.held();
        if held.is_beaten_by(self.1) {
            held.beating = None;
        }
    }
}

impl Hold {
    pub(crate) const fn election(&self) -> Election {
        self.election
    }

    /// Ends the renewals: the last word about the lock is next.
    pub(crate) fn rest(mut self) -> Self {
        if let Some(lease) = self.heartbeat.held().leases.get_mut(&self.election.token) {
            lease.pending = Duration::ZERO;
            self.election.confirmed = lease.confirmed;
        }
        self
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.heartbeat.held().leases.remove(&self.election.token);
    }
}
