//! Lanes: callers of one key in one process that want different things at the same moment.

use std::sync::Arc;

use coalesce_runtime::coordination::{Coordinator as _, Envelope, ReplaceAsk, Status, Token};
use coalesce_runtime::{Coalescer, Entry, Fault, Key, MemoryCoordinator, Policy};
use tokio::time::Instant;

use crate::fleet::{Fleet, Ledger, MS, in_flight_only, retaining};
use crate::way::Way;

/// A call whose body takes 100 ms, and returns the number of its run and a text of so many characters.
fn entry(
    pod: &Coalescer,
    ledger: &Ledger,
    policy: &Arc<Policy>,
    length: usize,
) -> Entry<'static, (u64, String)> {
    let ledger = ledger.clone();
    let call = pod.call("n").key(1).policy(policy.clone());
    call.entry(move || async move { (ledger.run(100 * MS).await, "x".repeat(length)) })
}

fn small(mut policy: Policy) -> Arc<Policy> {
    policy = policy.max_payload(1_000);
    Arc::new(policy)
}

/// One of them takes a mark of five seconds for what it says, and the other leads a flight as if it were not there.
#[tokio::test(start_paused = true)]
async fn each_caller_of_a_key_is_told_what_its_own_policy_says_of_a_mark_that_nothing_was_stored() {
    let long = Arc::unwrap_or_clone(retaining(60_000, 60_000));
    let short = Arc::unwrap_or_clone(retaining(1_000, 1_000));
    for other in [short, in_flight_only(30_000, 45_000)] {
        let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
        let mark = Envelope::new(Status::TooLarge, 0, Token::random(), MS, b""[..].into());
        let ask = ReplaceAsk {
            envelope: mark,
            life: 60_000 * MS,
        };
        let key = Key::new("n", &[&1]);
        inner.replace(&key, &ask).await.unwrap();
        tokio::time::sleep(5_000 * MS).await;
        let builder = Coalescer::builder().coordinator(Way::long(&inner, 10 * MS));
        let pod = builder.build().await.unwrap();
        let calls = [long.clone(), other].map(|policy| {
            let call = entry(&pod, &ledger, &Arc::new(policy), 1).call();
            tokio::spawn(call)
        });
        for call in calls {
            call.await.unwrap();
        }
        let executions = pod.snapshot_of("n").unwrap().executions;
        assert_eq!((executions.too_large, executions.cold), (1, 1));
    }
}

/// Those who found nothing follow the refresh, and share its process or not.
#[tokio::test(start_paused = true)]
async fn an_oversized_value_of_a_refresh_by_hand_is_shared_in_its_process_by_those_who_found_nothing()
 {
    let policy = small(Arc::unwrap_or_clone(retaining(60_000, 60_000)));
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    let entry = |pod: usize| entry(&fleet.pods[pod], &ledger, &policy, 5_000);
    let mut calls = vec![tokio::spawn(entry(0).refresh())];
    tokio::time::sleep(10 * MS).await;
    calls.extend([0, 0, 1, 1].map(|pod| tokio::spawn(entry(pod).call())));
    calls.extend([0, 1].map(|pod| tokio::spawn(entry(pod).refresh())));
    let mut runs = Vec::new();
    for call in calls {
        let (run, text) = call.await.unwrap();
        assert_eq!(text.len(), 5_000);
        runs.push(run);
    }
    assert_eq!(begun.elapsed(), 200 * MS);
    assert_eq!(runs, [1, 1, 1, 2, 2, 1, 2]);
    fleet.assert_nothing_left().await;
}

/// Whoever is first, and whether BEGIN may have been done or not: but for a refresh by hand that comes second and may have
/// the lock, see below.
#[tokio::test(start_paused = true)]
async fn without_a_coordinator_a_refresh_by_hand_and_calls_beside_it_are_one_run() {
    let policies = [retaining(60_000, 60_000), retaining(1_000, 60_000)];
    for (fault, policy, by_hand_first) in [
        (Fault::Disconnected, &policies[0], true),
        (Fault::Timeout, &policies[1], true),
        (Fault::Paused, &policies[1], false),
        (Fault::Paused, &policies[0], false),
    ] {
        let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
        let builder = Coalescer::builder().coordinator(way.clone());
        let pod = builder.build().await.unwrap();
        way.cut(fault);
        let begun = Instant::now();
        let call = |by_hand: bool| {
            let entry = entry(&pod, &ledger, policy, 1);
            tokio::spawn(async move {
                if by_hand {
                    entry.refresh().await.0
                } else {
                    entry.call().await.0
                }
            })
        };
        let mut calls = Vec::from([(); 3].map(|()| call(by_hand_first)));
        tokio::time::sleep(10 * MS).await;
        calls.extend([(); 3].map(|()| call(!by_hand_first)));
        for call in calls {
            assert_eq!(call.await.unwrap(), 1, "{fault:?}");
        }
        assert!(begun.elapsed() <= 600 * MS, "{:?}", begun.elapsed());
        assert_eq!(ledger.runs(), 1, "{fault:?}");
        // What comes later runs again.
        assert_eq!(call(true).await.unwrap(), 2);
        way.heal();
        pod.shutdown(MS).await;
        assert_eq!(pod.in_flight(), 0);
    }
}

/// Whoever of the two it is that leads.
#[tokio::test(start_paused = true)]
async fn who_finds_a_leader_in_its_own_process_and_no_coordinator_is_answered_by_its_run() {
    for leads_by_hand in [true, false] {
        let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
        let builder = Coalescer::builder().coordinator(way.clone());
        let pod = builder.build().await.unwrap();
        let call = |by_hand: bool| {
            let entry = entry(&pod, &ledger, &retaining(60_000, 60_000), 1);
            tokio::spawn(async move {
                if by_hand {
                    entry.refresh().await.0
                } else {
                    entry.call().await.0
                }
            })
        };
        let leader = call(leads_by_hand);
        tokio::time::sleep(10 * MS).await;
        way.cut(Fault::Paused);
        let others = [(); 3].map(|()| call(!leads_by_hand));
        for call in others.into_iter().chain([leader]) {
            assert_eq!(call.await.unwrap(), 1);
        }
        assert_eq!(ledger.runs(), 1);
        way.heal();
        pod.shutdown(MS).await;
    }
}

/// A run that nobody granted a lock stores nothing. What was stored before it must not outlive the refresh.
#[tokio::test(start_paused = true)]
async fn a_refresh_by_hand_that_may_have_been_granted_the_lock_runs_and_is_stored() {
    let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
    let builder = Coalescer::builder().coordinator(way.clone());
    let pod = builder.build().await.unwrap();
    let entry = || {
        let ledger = ledger.clone();
        let call = pod.call("n").key(1).policy(retaining(60_000, 60_000));
        call.entry(move || async move { ledger.run(1_000 * MS).await })
    };
    way.cut(Fault::Paused);
    let during = tokio::spawn(entry().call());
    tokio::time::sleep(10 * MS).await;
    way.heal();
    way.loses_answers(true);
    let refresh = tokio::spawn(entry().refresh());
    tokio::time::sleep(600 * MS).await;
    assert_eq!(ledger.runs(), 2);
    way.loses_answers(false);
    assert_eq!(during.await.unwrap(), 1);
    assert_eq!(refresh.await.unwrap(), 2);
    tokio::time::sleep(1_000 * MS).await;
    assert_eq!(entry().peek().await.unwrap(), Some(2));
}

/// It asks for itself, so that its value is stored as soon as there is somebody to store it.
#[tokio::test(start_paused = true)]
async fn a_refresh_by_hand_behind_an_outage_waits_for_no_run_that_began_in_it() {
    let (way, ledger) = (Way::to(&MemoryCoordinator::new()), Ledger::default());
    let builder = Coalescer::builder().coordinator(way.clone());
    let pod = builder.build().await.unwrap();
    let entry = || entry(&pod, &ledger, &retaining(60_000, 60_000), 1);
    way.cut(Fault::Disconnected);
    let during = tokio::spawn(entry().call());
    tokio::time::sleep(10 * MS).await;
    way.heal();
    assert_eq!(entry().refresh().await.0, 2);
    assert_eq!(during.await.unwrap().0, 1);
    assert_eq!(entry().peek().await.unwrap().unwrap().0, 2);
}
