//! A lease that is lost while its body runs: it is counted once, by the process that had it.

use std::sync::Arc;

use coalesce_runtime::coordination::Coordinator;
use coalesce_runtime::{Coalescer, Fault, MemoryCoordinator};

use crate::fleet::{Ledger, MS};
use crate::way::Way;

async fn pod(coordinator: Arc<dyn Coordinator>) -> Coalescer {
    let builder = Coalescer::builder().coordinator(coordinator);
    builder.build().await.unwrap()
}

/// Two processes, the way of the first, and what bodies write to.
async fn two() -> (Arc<Way>, [Coalescer; 2], Ledger) {
    let inner = MemoryCoordinator::new();
    let way = Way::to(&inner);
    let pods = [pod(way.clone()).await, pod(Arc::new(inner)).await];
    (way, pods, Ledger::default())
}

async fn call(pod: Coalescer, ledger: Ledger, span: u32) -> u64 {
    let call = pod.call("n").key(1);
    call.run(move || async move { ledger.run(span * MS).await })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_has_taken_over_is_counted_once_by_who_has_lost_it() {
    let (way, pods, ledger) = two().await;
    let [one, two] = pods.clone();
    let slow = tokio::spawn(call(one, ledger.clone(), 9_000));
    tokio::time::sleep(500 * MS).await;
    way.cut(Fault::Disconnected);
    // The lease ends, and another process leads.
    tokio::time::sleep(4_000 * MS).await;
    let next = tokio::spawn(call(two, ledger, 9_000));
    tokio::time::sleep(100 * MS).await;
    way.heal();
    // Several beats of both.
    assert_eq!((slow.await.unwrap(), next.await.unwrap()), (1, 2));
    let counted = pods.map(|pod| pod.snapshot_of("n").unwrap().incidents);
    assert_eq!(counted.map(|it| it.leases_lost), [1, 0]);
    assert_eq!(counted.map(|it| it.fenced), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_its_leader_takes_again_is_not_counted() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = pod(way.clone()).await;
    let slow = tokio::spawn(call(one.clone(), ledger, 8_000));
    tokio::time::sleep(1_500 * MS).await;
    way.cut(Fault::Disconnected);
    tokio::time::sleep(3_200 * MS).await;
    way.heal();
    assert_eq!(slow.await.unwrap(), 1);
    let counted = one.snapshot_of("n").unwrap().incidents;
    assert_eq!((counted.leases_lost, counted.fenced), (0, 0));
}

/// It asks once more, and follows who has taken over.
#[tokio::test(start_paused = true)]
async fn who_stands_still_with_a_grant_in_its_hand_begins_no_body_behind_its_lease() {
    let (way, pods, ledger) = two().await;
    let [one, two] = pods.clone();
    way.stands_still(5_000 * MS);
    let stopped = tokio::spawn(call(one, ledger.clone(), 4_000));
    tokio::time::sleep(3_500 * MS).await;
    let next = tokio::spawn(call(two, ledger.clone(), 4_000));
    assert_eq!((stopped.await.unwrap(), next.await.unwrap()), (1, 1));
    assert_eq!(ledger.runs(), 1);
    let counted = pods.map(|pod| pod.snapshot_of("n").unwrap().incidents);
    assert_eq!(counted.map(|it| it.fenced), [0, 0]);
}
