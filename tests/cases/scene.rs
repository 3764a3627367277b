//! The scene of a case: a private Redis, pods in this process, callers, and a ledger of what bodies did.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use coalesce::{Coalescer, CoalescerBuilder, Error, RedisCoordinator, RedisSettings};
use coalesce_rig::RedisServer;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub(crate) const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Redis of this test alone, and what bodies did.
pub(crate) struct Scene {
    pub(crate) server: RedisServer,
    pub(crate) ledger: Ledger,
}

/// One process of a fleet, as far as Redis can tell. Bodies take it with them.
#[derive(Clone)]
pub(crate) struct Pod {
    pub(crate) coalescer: Coalescer,
    pub(crate) ledger: Ledger,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self {
            server: RedisServer::start(),
            ledger: Ledger::default(),
        }
    }

    pub(crate) async fn pod(&self) -> Pod {
        self.pod_with(|builder| builder).await
    }

    /// Pods that differ in nothing.
    pub(crate) async fn pods(&self, count: usize) -> Vec<Pod> {
        let mut pods = Vec::new();
        for _ in 0..count {
            pods.push(self.pod().await);
        }
        pods
    }

    pub(crate) async fn pod_with(
        &self,
        configure: impl FnOnce(CoalescerBuilder) -> CoalescerBuilder,
    ) -> Pod {
        self.pod_on(self.settings(), configure).await
    }

    pub(crate) async fn pod_on(
        &self,
        settings: RedisSettings,
        configure: impl FnOnce(CoalescerBuilder) -> CoalescerBuilder,
    ) -> Pod {
        let coordinator = RedisCoordinator::connect(settings).await.unwrap();
        let builder = Coalescer::builder().coordinator(Arc::new(coordinator));
        Pod {
            coalescer: configure(builder).build().await.unwrap(),
            ledger: self.ledger.clone(),
        }
    }

    /// No deadline of Redis is the subject here, and a busy machine must not reach one.
    pub(crate) fn settings(&self) -> RedisSettings {
        RedisSettings::new(self.server.url()).deadline(5_000 * MS)
    }

    /// How many keys are listened to.
    pub(crate) fn channels(&self) -> usize {
        let asked = ["PUBSUB", "CHANNELS", "*:notify:{*"];
        self.server.command(&asked).list().len()
    }

    /// P11: no local entry, no lock, and no key without an expiry.
    pub(crate) async fn assert_nothing_left(&self, pods: &[Pod]) {
        eventually("every local entry and every lock is gone", || {
            let locks = self.server.command(&["KEYS", "*:lock:*"]).list();
            locks.is_empty() && pods.iter().all(|pod| pod.coalescer.in_flight() == 0)
        })
        .await;
        assert_eq!(self.server.immortal_keys(), Vec::<String>::new());
    }
}

/// Every run of a body, in the order of their starts.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Runs>>);

#[derive(Default)]
struct Runs {
    ends: Vec<Option<Instant>>,
    running: usize,
    most_at_once: usize,
}

impl Ledger {
    /// A body: takes `span` and returns the number of its run, from 1.
    pub(crate) async fn run(&self, span: Duration) -> u64 {
        self.run_until(tokio::time::sleep(span)).await
    }

    /// A body that ends when something else does.
    pub(crate) async fn run_until<T>(&self, end: impl Future<Output = T>) -> u64 {
        let number = self.started();
        end.await;
        let mut runs = self.0.lock().unwrap();
        runs.running -= 1;
        runs.ends[number - 1] = Some(Instant::now());
        number as u64
    }

    fn started(&self) -> usize {
        let mut runs = self.0.lock().unwrap();
        runs.ends.push(None);
        runs.running += 1;
        runs.most_at_once = runs.most_at_once.max(runs.running);
        runs.ends.len()
    }

    pub(crate) fn runs(&self) -> usize {
        self.0.lock().unwrap().ends.len()
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.0.lock().unwrap().most_at_once
    }

    /// When run number `number` ended.
    pub(crate) fn ended(&self, number: u64) -> Instant {
        let index = usize::try_from(number).unwrap() - 1;
        self.0.lock().unwrap().ends[index].unwrap()
    }
}

/// What bodies wait for until the test lets them end.
#[derive(Clone, Debug)]
pub(crate) struct Gate(watch::Sender<bool>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn passed(&self) {
        let mut opened = self.0.subscribe();
        opened.wait_for(|open| *open).await.unwrap();
    }
}

/// An error as users write them: it crosses between processes as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Failure {
    Down(String),
    Coalesce(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Coalesce(error.to_string())
    }
}

/// Starts `count` callers in one tick.
pub(crate) fn callers<T, Fut>(count: usize, call: impl Fn(usize) -> Fut) -> Vec<JoinHandle<T>>
where
    T: Send + 'static,
    Fut: Future<Output = T> + Send + 'static,
{
    (0..count)
        .map(|number| tokio::spawn(call(number)))
        .collect()
}

/// What they were answered.
pub(crate) async fn answers<T>(callers: Vec<JoinHandle<T>>) -> Vec<T> {
    let mut answers = Vec::new();
    for caller in callers {
        let answer = tokio::time::timeout(PATIENCE, caller).await;
        answers.push(answer.unwrap().unwrap());
    }
    answers
}

/// Waits until something holds. There is a limit, and reaching it is a failure.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(2 * MS).await;
    }
}
