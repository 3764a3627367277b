//! Errors: shared while they are new, never mistaken for success, and not kept.

use std::fmt;

use coalesce::{Error, coalesce};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::scene::{Failure, MS, Pod, Scene, answers, callers};

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn down(pod: &Pod, id: u64) -> Result<u64, Failure> {
    pod.ledger.run(100 * MS).await;
    Err(Failure::Down("db down".to_owned()))
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s", errors = "retry")]
async fn down_at_first(pod: &Pod, id: u64) -> Result<u64, Failure> {
    match pod.ledger.run(100 * MS).await {
        1 => Err(Failure::Down("db down".to_owned())),
        run => Ok(run),
    }
}

/// I-05, D3, W1.
#[tokio::test]
async fn fifty_callers_of_a_failing_body_get_one_runs_error_when_it_ends() {
    for pods in [1, 2] {
        let scene = Scene::new();
        let pods = scene.pods(pods).await;
        for run in 1..=2 {
            let begun = Instant::now();
            let got = answers(callers(50, |number| {
                let pod = pods[number % pods.len()].clone();
                async move { down(&pod, 1).await }
            }));
            assert_eq!(got.await, vec![Err(Failure::Down("db down".into())); 50]);
            assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
            assert_eq!(scene.ledger.runs(), run, "one run for each burst");
        }
        scene.assert_nothing_left(&pods).await;
    }
}

/// J-D04.
#[tokio::test]
async fn with_retry_one_follower_runs_again_and_the_rest_share_its_value() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let got = answers(callers(6, |number| {
        let pod = pods[number % 2].clone();
        async move { down_at_first(&pod, 1).await }
    }))
    .await;
    let failed = got.iter().filter(|answer| answer.is_err()).count();
    let shared = got.iter().filter(|answer| **answer == Ok(2)).count();
    assert_eq!((failed, shared, scene.ledger.runs()), (1, 5, 2), "{got:?}");
}

/// Errors that have next to nothing in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Slight {
    Unit,
    Text(String),
    Nothing(Option<u64>),
    List(Vec<u64>),
    Ours,
}

/// One that serde knows as nothing at all.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

/// One with a message that is empty.
#[derive(Debug, PartialEq)]
struct Silent;

/// One with nothing.
#[derive(Debug, PartialEq)]
struct Opaque;

impl fmt::Display for Silent {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl From<Error> for Slight {
    fn from(_: Error) -> Self {
        Self::Ours
    }
}

macro_rules! made_of_ours {
    ($($error:ident)*) => {$(
        impl From<Error> for $error {
            fn from(_: Error) -> Self {
                Self
            }
        }
    )*};
}

made_of_ours!(Unit Silent Opaque);

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn slight(pod: &Pod, id: usize) -> Result<(), Slight> {
    pod.ledger.run(20 * MS).await;
    Err(slight_errors().swap_remove(id))
}

fn slight_errors() -> Vec<Slight> {
    vec![
        Slight::Unit,
        Slight::Text(String::new()),
        Slight::Nothing(None),
        Slight::List(vec![]),
    ]
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn unit(pod: &Pod, id: u64) -> Result<Option<u64>, Unit> {
    pod.ledger.run(20 * MS).await;
    Err(Unit)
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn silent(pod: &Pod, id: u64) -> Result<(), Silent> {
    pod.ledger.run(20 * MS).await;
    Err(Silent)
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn opaque(pod: &Pod, id: u64) -> Result<String, Opaque> {
    pod.ledger.run(20 * MS).await;
    Err(Opaque)
}

///
#[tokio::test]
async fn an_error_with_nothing_in_it_is_an_error_for_every_caller() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    for (id, error) in slight_errors().into_iter().enumerate() {
        let got = answers(callers(10, |number| {
            let pod = pods[number % 2].clone();
            async move { slight(&pod, id).await }
        }));
        assert_eq!(got.await, vec![Err(error); 10]);
    }
    let got = answers(callers(10, |number| {
        let pod = pods[number % 2].clone();
        async move {
            (
                unit(&pod, 1).await,
                silent(&pod, 1).await,
                opaque(&pod, 1).await,
            )
        }
    }))
    .await;
    for answer in got {
        assert_eq!(answer, (Err(Unit), Err(Silent), Err(Opaque)));
    }
    assert_eq!(scene.ledger.runs(), slight_errors().len() + 3);
}
