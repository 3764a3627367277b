//! A fleet of simulated pods, and a body that keeps a ledger of its runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coalesce_runtime::coordination::Coordinator;
use coalesce_runtime::{Clocks, Coalescer, Error, MemoryCoordinator, Policy};
use tokio::time::Instant;

pub const MS: Duration = Duration::from_millis(1);

/// Several coalescers on one coordinator: what several processes on one Redis are.
pub struct Fleet {
    pub pods: Vec<Coalescer>,
    pub coordinator: Arc<MemoryCoordinator>,
}

impl Fleet {
    pub async fn of(pods: usize) -> Self {
        let coordinator = Arc::new(MemoryCoordinator::new());
        let shared: Arc<dyn Coordinator> = coordinator.clone();
        let mut built = Vec::new();
        for _ in 0..pods {
            built.push(
                Coalescer::builder()
                    .coordinator(shared.clone())
                    .build()
                    .await
                    .unwrap(),
            );
        }
        Self {
            pods: built,
            coordinator,
        }
    }

    /// P11: nothing is left when every caller has been answered.
    pub async fn assert_nothing_left(&self) {
        // Drivers end a moment after the answer; a few turns of the scheduler let them.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        for pod in &self.pods {
            assert_eq!(pod.in_flight(), 0, "a local entry is left");
        }
        assert_eq!(
            self.coordinator.subscriptions(),
            0,
            "a subscription is left"
        );
    }
}

/// What the body did, outside the library: every run with its start, end and overlap.
#[derive(Clone, Default)]
pub struct Ledger(Arc<LedgerInner>);

#[derive(Default)]
struct LedgerInner {
    running: AtomicUsize,
    most_at_once: AtomicUsize,
    /// The end of each run, once it has ended.
    runs: Mutex<Vec<Option<Instant>>>,
}

impl Ledger {
    /// A body that takes `span` and returns the number of its run, from 1.
    pub async fn run(&self, span: Duration) -> u64 {
        let number = {
            let mut runs = self.0.runs.lock().unwrap();
            runs.push(None);
            runs.len()
        };
        let now_running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most_at_once.fetch_max(now_running, Ordering::SeqCst);
        tokio::time::sleep(span).await;
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.runs.lock().unwrap()[number - 1] = Some(Instant::now());
        number as u64
    }

    pub fn runs(&self) -> usize {
        self.0.runs.lock().unwrap().len()
    }

    pub fn most_at_once(&self) -> usize {
        self.0.most_at_once.load(Ordering::SeqCst)
    }

    /// When run number `number` (from 1) ended.
    pub fn ended(&self, number: u64) -> Instant {
        self.0.runs.lock().unwrap()[usize::try_from(number).unwrap() - 1].unwrap()
    }
}

/// A policy with these fresh and stale times in milliseconds, 30 s pending and 45 s wait.
pub fn retaining(fresh: u64, stale: u64) -> Arc<Policy> {
    let ms = Duration::from_millis;
    let clocks = Clocks::new(ms(fresh), Some(ms(stale)), ms(30_000), Some(ms(45_000))).unwrap();
    Arc::new(Policy::new(clocks))
}

/// A policy that retains nothing, with these pending and wait times in milliseconds.
pub fn in_flight_only(pending: u64, wait: u64) -> Policy {
    let ms = Duration::from_millis;
    Policy::new(Clocks::new(ms(0), None, ms(pending), Some(ms(wait))).unwrap())
}

/// An error as users write them.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    Body(String),
    Ours(Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Body(text) => f.write_str(text),
            Self::Ours(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// Starts `count` tasks made by `make(pod, index)`, spread over the pods, and waits for all of them.
pub async fn all<T, F, Fut>(fleet: &Fleet, count: usize, make: F) -> Vec<T>
where
    T: Send + 'static,
    F: Fn(Coalescer, usize) -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..count)
        .map(|index| tokio::spawn(make(fleet.pods[index % fleet.pods.len()].clone(), index)))
        .collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    results
}
