//! Limits: more keys or more callers of one key than a process may have at once go their own way.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::{Coalescer, CoalescerBuilder, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Ledger, MS, retaining};

fn builder() -> CoalescerBuilder {
    Coalescer::builder().coordinator(Arc::new(MemoryCoordinator::new()))
}

fn call(pod: &Coalescer, key: u64, ledger: &Ledger) -> tokio::task::JoinHandle<u64> {
    let (pod, ledger) = (pod.clone(), ledger.clone());
    tokio::spawn(async move {
        pod.call("n")
            .key(key)
            .run(move || async move { ledger.run(100 * MS).await })
            .await
    })
}

#[tokio::test(start_paused = true)]
async fn a_key_too_many_is_not_coalesced_and_those_in_progress_are() {
    let pod = builder().max_in_flight(2).build().await.unwrap();
    let [one, two, three] = [(); 3].map(|()| Ledger::default());
    let begun = Instant::now();
    let mut calls = Vec::new();
    for (key, ledger) in [(1, &one), (2, &two), (3, &three)] {
        calls.extend((0..2).map(|_| call(&pod, key, ledger)));
        tokio::task::yield_now().await;
    }
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!([one.runs(), two.runs(), three.runs()], [1, 1, 2]);
    assert_eq!(begun.elapsed(), 100 * MS, "nobody waits for room");
    assert_eq!(pod.counts().capped, 2);
    // There is room again.
    let later = [call(&pod, 3, &three), call(&pod, 3, &three)];
    for call in later {
        assert_eq!(call.await.unwrap(), 3);
    }
    assert_eq!((pod.counts().capped, pod.in_flight()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_too_many_runs_the_body_and_the_others_share_theirs() {
    let pod = builder().max_waiters(3).build().await.unwrap();
    let ledger = Ledger::default();
    let calls: Vec<_> = (0..5).map(|_| call(&pod, 1, &ledger)).collect();
    tokio::time::sleep(MS).await;
    assert_eq!(pod.snapshot().gauges.waiters, 3);
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!((ledger.runs(), pod.counts().capped), (3, 2));
    assert_eq!(pod.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn there_is_no_refresh_where_there_is_no_room_for_its_key() {
    let pod = builder().max_in_flight(1).build().await.unwrap();
    let ledger = Ledger::default();
    let stale = |ledger: &Ledger| {
        let (pod, ledger) = (pod.clone(), ledger.clone());
        async move {
            pod.call("n")
                .key(1)
                .policy(retaining(100, 60_000))
                .run(move || async move { ledger.run(MS).await })
                .await
        }
    };
    assert_eq!(stale(&ledger).await, 1);
    tokio::time::sleep(200 * MS).await;
    let other = call(&pod, 2, &Ledger::default());
    tokio::time::sleep(MS).await;
    assert_eq!(stale(&ledger).await, 1, "what is stored needs no room");
    other.await.unwrap();
    assert_eq!((ledger.runs(), pod.counts().capped), (1, 0));
    assert_eq!(stale(&ledger).await, 1);
    tokio::time::sleep(50 * MS).await;
    assert_eq!(stale(&ledger).await, 2, "refreshed behind it");
}

#[tokio::test]
async fn settings_that_no_clock_can_carry_are_refused_all_at_once() {
    let most = Duration::MAX;
    let builder = Coalescer::builder()
        .in_process()
        .lease(most)
        .polls(most, most)
        .delivery_window(most)
        .refresh_pause(most)
        .operation_deadline(most);
    let problems = builder.build().await.unwrap_err().to_string();
    for option in [
        "lease",
        "polls",
        "delivery_window",
        "refresh_pause",
        "operation_deadline",
    ] {
        assert!(problems.contains(option), "{problems}");
    }
}

/// A renewal that got no answer and the next one must fit into a lease.
#[tokio::test]
async fn a_deadline_above_a_sixth_of_the_lease_is_refused() {
    let with = |millis: u32| {
        let builder = Coalescer::builder().in_process().lease(1_200 * MS);
        builder.operation_deadline(millis * MS)
    };
    assert!(with(200).build().await.is_ok());
    let problems = with(201).build().await.unwrap_err().to_string();
    assert!(problems.contains("a sixth of the lease"), "{problems}");
}

#[tokio::test]
async fn what_a_coordinator_was_made_with_is_not_said_beside_it_again() {
    let builder = || Coalescer::builder().coordinator(Arc::new(MemoryCoordinator::new()));
    for (option, builder) in [
        ("prefix", builder().prefix("shop")),
        ("operation_deadline", builder().operation_deadline(MS)),
    ] {
        let error = builder.build().await.unwrap_err();
        let options = error.problems().iter().map(|it| it.option.as_str());
        assert_eq!(options.collect::<Vec<_>>(), [option]);
    }
}

#[tokio::test]
async fn a_limit_of_nothing_is_refused() {
    for builder in [builder().max_in_flight(0), builder().max_waiters(0)] {
        assert!(builder.build().await.is_err());
    }
}
