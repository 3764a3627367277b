//! Bodies that hang: whoever waits for one waits for no longer than a flight or a follower may take.

use std::future::pending;
use std::time::Duration;

use coalesce_runtime::coordination::{BeginAsk, Coordinator as _, Token};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Fleet, Ledger, MS, all, in_flight_only, retaining};
use crate::way::Way;

/// A call whose body hangs when it is among the first `hang` runs, and takes 100 ms otherwise. It answers with its run
/// and the time it took.
async fn call(pod: Coalescer, ledger: Ledger, hang: usize) -> (u64, Duration) {
    let begun = Instant::now();
    let call = pod.call("n").key(1).policy(in_flight_only(4_000, 5_000));
    let body = move || async move {
        let hangs = ledger.runs() < hang;
        let run = ledger.run(100 * MS).await;
        if hangs {
            pending::<()>().await;
        }
        run
    };
    (call.run(body).await, begun.elapsed())
}

/// The key is led elsewhere, for longer than anybody waits.
async fn hold(coordinator: &MemoryCoordinator) {
    let ask = BeginAsk {
        token: Token::random(),
        lease: 60_000 * MS,
        seen: None,
        following: None,
        trace: None,
    };
    coordinator
        .begin(&Key::new("n", &[&1]), &ask)
        .await
        .unwrap();
}

/// The coordinator is away for a moment, and the body that runs without it never ends.
#[tokio::test(start_paused = true)]
async fn a_body_that_hangs_without_the_coordinator_gives_its_key_back_when_its_time_is_over() {
    let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
    let builder = Coalescer::builder().coordinator(way.clone());
    let pod = builder.build().await.unwrap();
    way.cut(Fault::Disconnected);
    tokio::spawn(call(pod.clone(), ledger.clone(), 1));
    tokio::time::sleep(10 * MS).await;
    let follower = tokio::spawn(call(pod.clone(), ledger.clone(), 1));
    tokio::time::sleep(3_890 * MS).await;
    way.heal();
    assert_eq!(follower.await.unwrap(), (2, 4_090 * MS));
    assert_eq!(call(pod, ledger, 1).await, (3, 100 * MS));
}

/// A key that is led for longer than anybody waits, and callers that cannot be told so; the first body behind it hangs.
#[tokio::test(start_paused = true)]
async fn who_gave_up_and_waits_for_a_body_that_hangs_is_answered_by_one_more() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    hold(&inner).await;
    let builder = Coalescer::builder().coordinator(std::sync::Arc::new(inner));
    let pod = builder.build().await.unwrap();
    let start = || tokio::spawn(call(pod.clone(), ledger.clone(), 1));
    let calls = [(); 6].map(|()| start());
    tokio::time::sleep(8_000 * MS).await;
    let late = start();
    tokio::time::sleep(3_200 * MS).await;
    let mut answers = Vec::new();
    for call in calls
        .into_iter()
        .filter(tokio::task::JoinHandle::is_finished)
    {
        answers.push(call.await.unwrap());
    }
    // 5 s in the key's flight, 6 s behind the body that hangs, and one body for all.
    assert_eq!(answers, [(2, 11_100 * MS); 5]);
    // Nobody joins the first any more.
    assert_eq!(late.await.unwrap(), (3, 5_100 * MS));
}

/// It is slower than a flight may be, and slower than anybody waits for one.
#[tokio::test(start_paused = true)]
async fn who_gave_up_runs_a_slow_body_few_times_in_each_process_and_not_one_behind_the_other() {
    // It has 6 s, then 12 s, then 24 s.
    for (takes, runs, longest) in [(5_900, 1, 10_900), (9_000, 2, 20_000), (20_000, 3, 43_000)] {
        let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
        hold(&fleet.coordinator).await;
        let begun = Instant::now();
        let answers = all(&fleet, 20, |pod, _| {
            let (call, ledger) = (pod.call("n").key(1), ledger.clone());
            call.policy(in_flight_only(4_000, 5_000))
                .run(move || async move { ledger.run(takes * MS).await })
        })
        .await;
        assert_eq!((answers.len(), ledger.runs()), (20, 2 * runs), "{takes} ms");
        assert_eq!(begun.elapsed(), longest * MS, "{takes} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn refreshes_of_one_key_that_hang_take_no_place_from_other_keys() {
    let builder = Coalescer::builder().in_process().max_refreshes(2);
    let (pod, held) = (builder.build().await.unwrap(), std::sync::Arc::new(()));
    let ledgers = [Ledger::default(), Ledger::default()];
    let call = |key: usize| {
        let (ledger, held) = (ledgers[key].clone(), held.clone());
        let call = pod.call("n").key(key).policy(retaining(1_000, 600_000));
        call.run(move || async move {
            let hangs = key == 0 && ledger.runs() > 0;
            let run = ledger.run(MS).await;
            if hangs {
                pending::<()>().await;
            }
            drop(held);
            run
        })
    };
    assert_eq!((call(0).await, call(1).await), (1, 1));
    for refresh in 1..=3 {
        // A failed refresh is followed by a pause of some seconds.
        tokio::time::sleep(40_000 * MS).await;
        assert_eq!(call(0).await, 1);
        tokio::time::sleep(10 * MS).await;
        assert_eq!(ledgers[0].runs(), 1 + refresh);
        assert_eq!(std::sync::Arc::strong_count(&held), 2, "one at a time");
    }
    tokio::time::sleep(40_000 * MS).await;
    let incidents = pod.snapshot_of("n").unwrap().incidents;
    assert_eq!((incidents.refresh_failures, incidents.fenced), (3, 0));
    assert_eq!(call(1).await, 1);
    tokio::time::sleep(10 * MS).await;
    assert_eq!(call(1).await, 2, "the other key was refreshed");
}
