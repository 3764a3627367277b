//! A coordinator in trouble, values that cannot be read, and the orderly end.

use coalesce_runtime::coordination::{Coordinator as _, Envelope, ReplaceAsk, Status, Token};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Fleet, Ledger, MS, all, retaining};
use crate::way::Way;

#[tokio::test(start_paused = true)]
async fn a_stored_value_of_another_type_is_a_miss_that_the_next_commit_overwrites() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let key = Key::new("n", &[&1]);
    let payload = b"\xa5hello"[..].into();
    let envelope = Envelope::new(Status::Done, 1, Token::random(), MS, payload);
    fleet
        .coordinator
        .replace(
            &key,
            &ReplaceAsk {
                envelope,
                life: 60_000 * MS,
            },
        )
        .await
        .unwrap();
    for _ in 0..3 {
        let ledger = ledger.clone();
        let call = fleet.pods[0]
            .call("n")
            .key(1)
            .policy(retaining(60_000, 60_000));
        assert_eq!(
            call.run(move || async move { ledger.run(MS).await }).await,
            1
        );
    }
    assert_eq!(ledger.runs(), 1);
    assert_eq!(fleet.pods[0].counts().undecodable, 1);
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_the_flights_in_progress() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let call = |pod: usize| {
        let (pod, ledger) = (fleet.pods[pod].clone(), ledger.clone());
        tokio::spawn(async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(500 * MS).await })
                .await
        })
    };
    let (here, there) = (call(0), call(1));
    tokio::time::sleep(100 * MS).await;
    let begun = Instant::now();
    fleet.pods[0].shutdown(5_000 * MS).await;
    assert_eq!(begun.elapsed(), 400 * MS);
    assert_eq!((here.await.unwrap(), there.await.unwrap()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn shutdown_hands_over_what_does_not_end_in_time() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let call = |pod: usize, span: u32| {
        let (pod, ledger) = (fleet.pods[pod].clone(), ledger.clone());
        tokio::spawn(async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(span * MS).await })
                .await
        })
    };
    let slow = call(0, 20_000);
    tokio::time::sleep(10 * MS).await;
    let follower = call(1, 50);
    tokio::time::sleep(100 * MS).await;
    let begun = Instant::now();
    fleet.pods[0].shutdown(1_000 * MS).await;
    assert_eq!(follower.await.unwrap(), 2);
    assert!(
        begun.elapsed() < 1_100 * MS,
        "no lease was left behind: {:?}",
        begun.elapsed()
    );
    drop(slow);
}

/// A rolling deployment under a slow body: no process is told that the body does not work.
#[tokio::test(start_paused = true)]
async fn who_follows_flights_whose_processes_shut_down_one_behind_the_other_goes_on_following() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    let mut calls = Vec::new();
    for pod in &fleet.pods {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        calls.push(tokio::spawn(
            call.run(move || async move { ledger.run(20_000 * MS).await }),
        ));
        tokio::time::sleep(10 * MS).await;
    }
    for (number, pod) in fleet.pods[..3].iter().enumerate() {
        assert_eq!(ledger.runs(), number + 1, "the others follow");
        pod.shutdown(MS).await;
        tokio::time::sleep(100 * MS).await;
    }
    assert_eq!(calls.pop().unwrap().await.unwrap(), 4);
    assert_eq!(ledger.runs(), 4);
}

#[tokio::test(start_paused = true)]
async fn behind_a_shutdown_calls_run_as_if_the_attribute_were_not_there() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    fleet.pods[0].shutdown(MS).await;
    all(&fleet, 5, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(MS).await })
                .await
        }
    })
    .await;
    assert_eq!((ledger.runs(), fleet.pods[0].counts().bypassed), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_renewals_without_an_answer_is_no_round_trip_and_one_fault() {
    for fault in [Fault::Timeout, Fault::Disconnected] {
        let way = Way::to(&MemoryCoordinator::new());
        let builder = Coalescer::builder().coordinator(way.clone());
        let pod = builder.build().await.unwrap();
        let flights: Vec<_> = (0..7_u64)
            .map(|key| {
                let call = pod.call("n").key(key);
                tokio::spawn(call.run(|| async { tokio::time::sleep(3_500 * MS).await }))
            })
            .collect();
        // One beat arrives, the next does not, and then one does again.
        tokio::time::sleep(1_500 * MS).await;
        way.cut(fault);
        tokio::time::sleep(1_000 * MS).await;
        way.heal();
        for flight in flights {
            flight.await.unwrap();
        }
        let snapshot = pod.snapshot();
        assert_eq!(snapshot.process.round_trips.renew, 2);
        assert_eq!(snapshot.process.faults.total(), 1);
        assert_eq!(snapshot.namespaces["n"].faults.total(), 0);
    }
}

/// A refresh that could not be asked for rests, and the rest is no work to wait for.
#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_no_refresh_that_rests() {
    for fault in [Fault::Disconnected, Fault::Refused] {
        let way = Way::to(&MemoryCoordinator::new());
        let builder = Coalescer::builder().coordinator(way.clone());
        let pod = builder.refresh_pause(60_000 * MS).build().await.unwrap();
        let call = || {
            let call = pod.call("n").key(1).policy(retaining(1_000, 60_000));
            call.run(|| async { 1 })
        };
        call().await;
        tokio::time::sleep(1_500 * MS).await;
        way.jam(fault);
        call().await;
        tokio::time::sleep(500 * MS).await;
        assert_eq!(pod.in_flight(), 1, "it rests");
        let begun = Instant::now();
        pod.shutdown(30_000 * MS).await;
        assert!(begun.elapsed() < 1_000 * MS, "{:?}", begun.elapsed());
    }
}

/// What it had from its caller is gone, and nothing keeps a coalescer that nobody has any more.
#[tokio::test(start_paused = true)]
async fn a_refresh_that_rests_keeps_neither_its_body_nor_its_coalescer() {
    for (elsewhere, shuts_down) in [(false, true), (false, false), (true, false)] {
        let inner = MemoryCoordinator::new();
        let way = Way::to(&inner);
        let builder = Coalescer::builder().coordinator(way.clone());
        let pod = builder.refresh_pause(60_000 * MS).build().await.unwrap();
        let lent = std::sync::Arc::new(());
        let call = |pod: &Coalescer| {
            let call = pod.call("n").key(1).policy(retaining(1_000, 60_000));
            let lent = lent.clone();
            call.run(move || async move {
                tokio::time::sleep(100 * MS).await;
                drop(lent);
            })
        };
        call(&pod).await;
        tokio::time::sleep(1_500 * MS).await;
        let other = Coalescer::builder().coordinator(std::sync::Arc::new(inner));
        let other = other.build().await.unwrap();
        if elsewhere {
            call(&other).await;
            tokio::time::sleep(10 * MS).await;
        } else {
            way.jam(Fault::Disconnected);
        }
        call(&pod).await;
        tokio::time::sleep(200 * MS).await;
        assert_eq!(pod.in_flight(), 1, "it rests");
        assert_eq!(std::sync::Arc::strong_count(&lent), 1);
        if shuts_down {
            pod.shutdown(MS).await;
        }
        let coordinator = std::sync::Arc::downgrade(&way);
        drop((way, pod));
        tokio::time::sleep(MS).await;
        assert_eq!(coordinator.strong_count(), 0);
    }
}

/// Questions fail and messages come through: an outcome arrives while it is not known who holds the lock.
#[tokio::test(start_paused = true)]
async fn who_has_its_outcome_and_a_last_word_to_say_listens_no_longer() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = Coalescer::builder().coordinator(std::sync::Arc::new(inner.clone()));
    let two = Coalescer::builder().coordinator(way.clone());
    let two = two.polls(50 * MS, 50 * MS).build().await.unwrap();
    let call = |pod: Coalescer| {
        let ledger = ledger.clone();
        let call = pod.call("n").key(1);
        tokio::spawn(call.run(move || async move { ledger.run(5_000 * MS).await }))
    };
    let leader = call(one.build().await.unwrap());
    tokio::time::sleep(10 * MS).await;
    let follower = call(two.clone());
    tokio::time::sleep(4_800 * MS).await;
    way.jam(Fault::Disconnected);
    assert_eq!((leader.await.unwrap(), follower.await.unwrap()), (1, 1));
    tokio::time::sleep(100 * MS).await;
    assert_eq!(inner.subscriptions(), 0);
    way.heal();
}

/// An implementation may wait for as long as it takes.
#[tokio::test(start_paused = true)]
async fn a_coordinator_without_a_deadline_is_no_trouble() {
    let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
    way.has_deadline(std::time::Duration::MAX);
    let pod = || Coalescer::builder().coordinator(way.clone()).build();
    let pods = [pod().await.unwrap(), pod().await.unwrap()];
    let call = |pod: &Coalescer| {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        call.run(move || async move { ledger.run(100 * MS).await })
    };
    let both = tokio::join!(call(&pods[0]), call(&pods[1]));
    assert_eq!((both, ledger.runs()), ((1, 1), 1));
    for pod in pods {
        pod.shutdown(MS).await;
    }
}
