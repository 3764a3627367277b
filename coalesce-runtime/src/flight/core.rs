//! The core: what every driver of one coalescer shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::fold::{Fold, Limits};
use super::heartbeat::Heartbeat;
use super::journal::{Journal, Line};
use super::switchboard::Switchboard;
use crate::engine::ask::{AbandonAsk, ReplaceAsk};
use crate::engine::poll::PollPlan;
use crate::ports::coordinator::Coordinator;
use crate::ports::event::{Event, Incident};
use crate::ports::locals::Locals;
use crate::ports::observed::Observed;
use crate::ports::observer::Observers;
use crate::ports::trace::Traces;
use crate::words::clock::now;
use crate::words::fault::Fault;
use crate::words::key::Key;

/// How a coalescer times its own affairs; the clocks of call sites are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The lock's life without a renewal.
    pub(crate) lease: Duration,
    pub(crate) poll: PollPlan,
    /// How long an outcome that is not retained stays readable for followers.
    pub(crate) delivery: Duration,
    /// The first pause after a failed refresh.
    pub(crate) refresh_pause: Duration,
    /// Refreshes of this process that may run at once.
    pub(crate) max_refreshes: usize,
    /// What may be in progress in this process at once.
    pub(crate) limits: Limits,
}

impl Settings {
    const DELIVERY: Duration = Duration::from_secs(5);

    /// How long after it was last confirmed a lock that is gone may be taken again.
    ///
    /// Within this time another flight's outcome, had there been one, would still be the key's state,
    /// and the state tells: nothing lives for less. Behind it that outcome may have come and expired, and ours
    /// would be older. Other processes may keep outcomes for less than this one, but not below the default.
    pub(crate) fn retake_window(&self) -> Duration {
        self.delivery.min(Self::DELIVERY)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(3),
            poll: PollPlan::default(),
            delivery: Self::DELIVERY,
            refresh_pause: Duration::from_secs(1),
            max_refreshes: 64,
            limits: Limits {
                entries: 100_000,
                members: 100_000,
            },
        }
    }
}

/// What every driver of one coalescer shares.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) coordinator: Arc<dyn Coordinator>,
    pub(crate) settings: Settings,
    pub(crate) fold: Arc<Fold>,
    pub(crate) heartbeat: Arc<Heartbeat>,
    pub(crate) refreshes: Arc<Semaphore>,
    pub(crate) observers: Arc<Observers>,
    pub(crate) traces: Traces,
    pub(crate) locals: Locals,
    journal: Arc<Journal>,
    pub(crate) switchboard: Arc<Switchboard>,
    stopping: AtomicBool,
    /// Whether the grace is over: nobody asks for a lock any more.
    handing_over: AtomicBool,
    /// Drivers at work.
    pub(crate) drivers: Headcount,
    /// Questions that may win a lock, until the heartbeat knows of it, and those that may free one.
    pub(crate) asking: Headcount,
}

impl Core {
    pub(crate) fn new(
        coordinator: Arc<dyn Coordinator>,
        settings: Settings,
        observers: Arc<Observers>,
        traces: Traces,
        locals: Locals,
    ) -> Self {
        let journal = Arc::<Journal>::default();
        let coordinator: Arc<dyn Coordinator> =
            Arc::new(Observed::new(coordinator, Arc::clone(&observers)));
        let fold = Arc::new(Fold::new(settings.limits));
        Self {
            heartbeat: Heartbeat::new(
                Arc::clone(&coordinator),
                Arc::clone(&fold),
                Arc::clone(&journal),
                Arc::clone(&observers),
                &settings,
            ),
            switchboard: Switchboard::new(Arc::clone(&coordinator)),
            coordinator,
            settings,
            fold,
            // "Any number" is more than a semaphore can count, and it panics.
            refreshes: Arc::new(Semaphore::new(
                settings.max_refreshes.min(Semaphore::MAX_PERMITS),
            )),
            observers,
            traces,
            locals,
            journal,
            stopping: AtomicBool::new(false),
            handing_over: AtomicBool::new(false),
            drivers: Headcount::default(),
            asking: Headcount::default(),
        }
    }

    /// Whether calls go past the coordinator because the process is about to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Tells of a thing that happened to `key`; somebody on call hears of some of them.
    pub(crate) fn tell(&self, key: &Key, incident: Incident) {
        match incident {
            Incident::Fenced => self.journal.say(key.namespace(), Line::Fenced),
            Incident::Takeover => self.journal.say(key.namespace(), Line::Takeover),
            _ => {}
        }
        let event = Event::Incident(incident);
        self.observers.record(key.namespace(), &event);
    }

    /// Puts a state in place from outside any flight. Whoever comes to this process behind that asks for itself, whatever
    /// the answer was, and so does whoever came while it was on its way.
    pub(crate) async fn replace(&self, key: &Key, ask: &ReplaceAsk) -> Result<bool, Fault> {
        let asked_at = now();
        let answer = self.coordinator.replace(key, ask).await;
        self.fold.fence_key(key, asked_at);
        answer
    }

    /// Whether nobody is to ask for a lock any more. A question must be counted before this is looked at.
    pub(crate) fn hands_over(&self) -> bool {
        self.handing_over.load(Ordering::SeqCst)
    }

    /// Starts no new flight, gives those in progress `grace` to end, and hands over the keys of the rest.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.stopping.store(true, Ordering::Relaxed);
        // What has not ended within the grace is handed over below.
        let _ = tokio::time::timeout(grace, self.drivers.none()).await;
        self.handing_over.store(true, Ordering::SeqCst);
        // A lock that is being won now would be left behind, and an outcome on its way lost. Each question has its
        // deadline; who asks may live on a runtime that nobody polls any more.
        let answered = self.coordinator.deadline().saturating_mul(4);
        let _ = tokio::time::timeout(answered, self.asking.none()).await;
        let locks = self.heartbeat.let_go_of_all();
        self.heartbeat.arrived().await;
        // All at once: who waits for the last of them would wait for all.
        let mut last_words = JoinSet::new();
        for (key, token) in locks {
            let coordinator = Arc::clone(&self.coordinator);
            // A lock that cannot be freed now ends with its lease.
            last_words.spawn(async move {
                let _ = coordinator
                    .abandon(&key, AbandonAsk::gives_way(token))
                    .await;
            });
        }
        last_words.join_all().await;
        let _ = self.coordinator.close().await;
    }
}

/// How many there are of something, for those who wait until there is none.
#[derive(Debug)]
pub(crate) struct Headcount(Arc<watch::Sender<usize>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<watch::Sender<usize>>);

impl Default for Headcount {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Headcount {
    pub(crate) fn one_more(&self) -> Counted {
        self.0.send_modify(|count| *count += 1);
        Counted(Arc::clone(&self.0))
    }

    pub(super) async fn none(&self) {
        // The sender is here, so there is nothing to fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_again_while_any_outcome_would_be_there_however_long_this_process_keeps_its_own()
     {
        let window = |secs| {
            let delivery = Duration::from_secs(secs);
            let settings = Settings {
                delivery,
                ..Settings::default()
            };
            settings.retake_window().as_secs()
        };
        assert_eq!([1, 5, 60].map(window), [1, 5, 5]);
    }
}
