//! What the attribute is for: callers with equal keys share one execution.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::coalesce;
use tokio::time::sleep;

use super::ready;

/// Counts the executions of a body.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicU32>);

impl Runs {
    async fn one(&self) -> u32 {
        let run = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        sleep(Duration::from_millis(20)).await;
        run
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

#[coalesce(skip(runs))]
async fn detached(runs: &Runs, id: u64) -> u32 {
    runs.one().await
}

#[coalesce(skip(runs), inline)]
async fn in_place(runs: &Runs, id: u64) -> u32 {
    runs.one().await
}

#[coalesce(skip(runs), fresh_ttl = "1m")]
async fn retained(runs: &Runs, id: u64) -> u32 {
    runs.one().await
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_execution() {
    ready().await;
    let runs = Runs::default();
    let answers = tokio::join!(detached(&runs, 1), detached(&runs, 1), detached(&runs, 1));
    assert_eq!((answers, runs.count()), ((1, 1, 1), 1));
    let runs = Runs::default();
    let answers = tokio::join!(in_place(&runs, 1), in_place(&runs, 1), in_place(&runs, 1));
    assert_eq!((answers, runs.count()), ((1, 1, 1), 1));
}

#[tokio::test]
async fn callers_with_different_keys_share_nothing() {
    ready().await;
    let runs = Runs::default();
    tokio::join!(detached(&runs, 2), detached(&runs, 3), in_place(&runs, 2));
    assert_eq!(runs.count(), 3);
}

#[tokio::test]
async fn nothing_is_retained_unless_it_is_asked_for() {
    ready().await;
    let runs = Runs::default();
    assert_eq!((detached(&runs, 4).await, detached(&runs, 4).await), (1, 2));
    assert_eq!((retained(&runs, 4).await, retained(&runs, 4).await), (3, 3));
}

#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    ready().await;
    let runs = Runs::default();
    drop((detached(&runs, 5), in_place(&runs, 5), retained(&runs, 5)));
    sleep(Duration::from_millis(5)).await;
    assert_eq!(runs.count(), 0);
}

#[tokio::test]
async fn detached_body_ends_although_its_caller_is_gone() {
    ready().await;
    let runs = Runs::default();
    let gave_up = tokio::time::timeout(Duration::from_millis(5), retained(&runs, 6)).await;
    assert!(gave_up.is_err());
    sleep(Duration::from_millis(40)).await;
    assert_eq!((retained(&runs, 6).await, runs.count()), (1, 1));
}

#[derive(Clone)]
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new() -> (Self, Arc<AtomicU32>) {
        let copies = Arc::new(AtomicU32::new(0));
        (Self(Arc::clone(&copies)), copies)
    }

    #[coalesce(fresh_ttl = "1m")]
    async fn copied(&self, id: u64) -> u64 {
        let _ = &self.0;
        id
    }
}

/// Counts its clones.
struct Argument(Arc<AtomicU32>);

impl Clone for Argument {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(&self.0))
    }
}

#[coalesce(skip(argument), fresh_ttl = "1m")]
async fn copying(argument: &Argument, id: u64) -> u64 {
    let _ = argument;
    id
}

#[tokio::test]
async fn copies_are_made_when_a_flight_starts_and_not_on_a_hit() {
    ready().await;
    let argument = Argument(Arc::default());
    for _ in 0..3 {
        copying(&argument, 7).await;
    }
    assert_eq!(argument.0.load(Ordering::SeqCst), 1);
    let (counted, copies) = Counted::new();
    counted.copied(7).await;
    counted.copied(7).await;
    assert_eq!(Arc::strong_count(&copies), 2);
}
