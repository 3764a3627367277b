//! Giving up: where nothing can be shared, callers run the body in parallel and never one after another.

use std::time::Duration;

use coalesce_runtime::contract::{Call, CallSite, path_of, place, shape};
use coalesce_runtime::{Coalescer, MemoryCoordinator};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::time::Instant;

use crate::fleet::{Failure, Fleet, Ledger, MS, all};
use crate::way::Way;

/// A type whose `Deserialize` does not read what its `Serialize` writes.
#[derive(Serialize, Deserialize)]
struct OneWay {
    #[serde(rename(serialize = "written", deserialize = "read"))]
    run: u64,
}

#[tokio::test(start_paused = true)]
async fn callers_do_not_queue_for_a_value_that_is_never_read_back() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1);
            call.run(move || async move {
                OneWay {
                    run: ledger.run(100 * MS).await,
                }
            })
            .await
            .run
        }
    })
    .await;
    assert!(begun.elapsed() <= 500 * MS, "{:?}", begun.elapsed());
    fleet.assert_nothing_left().await;
}

/// Bodies of callers on their own, of which some fail.
#[tokio::test(start_paused = true)]
async fn a_body_that_fails_for_its_caller_alone_is_counted_as_an_error() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let answers = all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1);
            call.try_run(move || async move {
                match ledger.run(100 * MS).await {
                    run @ ..6 => Ok(OneWay { run }),
                    run => Err(Failure::Body(run.to_string())),
                }
            })
            .await
            .is_err()
        }
    })
    .await;
    let failed = answers.iter().filter(|failed| **failed).count();
    assert!(failed > 20, "{failed}");
    let endings = |pod: &Coalescer| pod.snapshot_of("n").unwrap().endings.error;
    let counted: u64 = fleet.pods.iter().map(endings).sum();
    assert_eq!(counted + 5, ledger.runs() as u64);
}

struct NotEncodable;

impl Serialize for NotEncodable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("never"))
    }
}

impl<'de> Deserialize<'de> for NotEncodable {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("never"))
    }
}

#[tokio::test(start_paused = true)]
async fn callers_do_not_queue_for_a_value_that_cannot_be_encoded() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1);
            call.run(move || async move {
                ledger.run(100 * MS).await;
                NotEncodable
            })
            .await;
        }
    })
    .await;
    assert!(begun.elapsed() <= 300 * MS, "{:?}", begun.elapsed());
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn callers_of_a_plain_function_do_not_queue_for_a_body_that_always_panics() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    let calls: Vec<_> = (0..40)
        .map(|index| {
            let (pod, ledger) = (fleet.pods[index % 2].clone(), ledger.clone());
            tokio::spawn(async move {
                let call = pod.call("n").key(1);
                call.run(move || async move {
                    let run = ledger.run(100 * MS).await;
                    assert_eq!(run, 0, "always");
                    run
                })
                .await
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.is_err_and(|error| error.is_panic()));
    }
    assert!(begun.elapsed() <= 800 * MS, "{:?}", begun.elapsed());
    fleet.assert_nothing_left().await;
}

/// Their locks are granted when nobody wants them any more: no body has failed by that.
#[tokio::test(start_paused = true)]
async fn callers_that_are_gone_before_a_body_begins_cost_those_who_wait_no_error() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let mut calls = Vec::new();
    for (trip, starts, stays) in [(50, 0, false), (20, 40, true), (50, 60, false)] {
        let builder = Coalescer::builder().coordinator(Way::long(&inner, trip * MS));
        let (pod, ledger) = (builder.build().await.unwrap(), ledger.clone());
        calls.push(tokio::spawn(async move {
            tokio::time::sleep(starts * MS).await;
            let body = move || async move { Ok::<_, Failure>(ledger.run(10 * MS).await) };
            let call = pod.call("n").key(1).try_run(body);
            let patience = if stays { 60_000 * MS } else { 5 * MS };
            tokio::time::timeout(patience, call).await.ok()
        }));
    }
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(answers, [None, Some(Ok(1)), None]);
}

/// They run their bodies in their own tasks, and take them along when they go.
#[tokio::test(start_paused = true)]
async fn callers_that_take_their_bodies_along_cost_those_who_wait_no_error() {
    static SITE: CallSite = CallSite::new("get", place!());
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let mut calls = Vec::new();
    // One leads until it goes, then the next, which is nearer than the last.
    for (trip, starts, stays) in [(0, 0, 70), (0, 10, 105), (20, 20, 60_000)] {
        let builder = Coalescer::builder().coordinator(Way::long(&inner, trip * MS));
        let (pod, ledger) = (builder.build().await.unwrap(), ledger.clone());
        calls.push(tokio::spawn(async move {
            tokio::time::sleep(starts * MS).await;
            let body = move || async move { Ok::<_, Failure>(ledger.run(1_000 * MS).await) };
            let call = Call::new(&SITE, path_of(|| {})).key(&[&1]).on(&pod);
            let call = call.run_inline(shape!(Result<u64, Failure>), body);
            tokio::time::timeout(stays * MS, call).await.ok()
        }));
    }
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    assert_eq!(answers, [None, None, Some(Ok(3))]);
}

struct Panicking;

impl Serialize for Panicking {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("not today")
    }
}

impl<'de> Deserialize<'de> for Panicking {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_whose_serialize_panics_still_reaches_its_caller() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    all(&fleet, 10, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1);
            call.run(move || async move {
                ledger.run(100 * MS).await;
                Panicking
            })
            .await;
        }
    })
    .await;
    assert!(begun.elapsed() <= 300 * MS, "{:?}", begun.elapsed());
}

#[test]
fn a_call_on_a_runtime_that_was_shut_down_runs_its_body() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let handle = runtime.handle().clone();
    let pod = runtime.block_on(Coalescer::builder().in_process().build());
    runtime.shutdown_timeout(Duration::from_secs(5));
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let call = pod.unwrap().call("n").key(1);
        let value = handle.block_on(call.run(|| async { 7_u64 }));
        done.send(value)
    });
    assert_eq!(ended.recv_timeout(Duration::from_secs(10)), Ok(7));
}
