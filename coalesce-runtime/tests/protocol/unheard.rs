//! What a follower finds by itself, and what is counted then: outcomes that no message told of, values that came
//! between its look and its question, and states that it cannot read.

use std::sync::Arc;

use coalesce_runtime::{Coalescer, MemoryCoordinator};

use crate::fleet::{Ledger, MS, retaining};
use crate::way::Way;

/// A leader, and a follower that reaches the same coordinator on a way of its own.
async fn two() -> (Coalescer, Coalescer, Arc<Way>) {
    let inner = MemoryCoordinator::new();
    let way = Way::to(&inner);
    let leader = Coalescer::builder().coordinator(Arc::new(inner));
    let follower = Coalescer::builder().coordinator(way.clone());
    let leader = leader.build().await.unwrap();
    (leader, follower.build().await.unwrap(), way)
}

async fn call(pod: &Coalescer, ledger: &Ledger) -> u64 {
    let ledger = ledger.clone();
    let call = pod.call("n").key(1);
    call.run(move || async move { ledger.run(120 * MS).await })
        .await
}

fn lost_wake_ups(pod: &Coalescer) -> u64 {
    pod.snapshot_of("n").unwrap().incidents.lost_wake_ups
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_no_message_told_of_is_found_by_a_poll_and_counted_once() {
    for loses in [true, false] {
        let (leader, follower, way) = two().await;
        let ledger = Ledger::default();
        if loses {
            way.loses_messages();
        }
        for round in 1..=3 {
            let both = tokio::join!(call(&leader, &ledger), call(&follower, &ledger));
            assert_eq!(both, (round, round));
        }
        let counted = [&leader, &follower].map(lost_wake_ups);
        assert_eq!(counted, [0, if loses { 3 } else { 0 }]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_comes_between_the_look_and_the_question_is_counted_once() {
    let inner = MemoryCoordinator::new();
    // It looks at 100 ms and asks at 200 ms; the value is there at 120 ms.
    let far = Way::long(&inner, 100 * MS);
    let near = Coalescer::builder().coordinator(Arc::new(inner));
    let far = Coalescer::builder().coordinator(far);
    let pods = [near.build().await.unwrap(), far.build().await.unwrap()];
    let ledger = Ledger::default();
    let ask = |pod: &Coalescer, takes| {
        let ledger = ledger.clone();
        let call = pod.call("n").key(1).policy(retaining(1000, 1000));
        call.run(move || async move { ledger.run(takes).await })
    };
    let [near, far] = [&pods[0], &pods[1]];
    let takes = 120 * MS;
    let all = tokio::join!(ask(near, takes), ask(far, takes), ask(far, takes));
    assert_eq!(all, (1, 1, 1));
    // It is no double check to be told at 200 ms that somebody is at it.
    tokio::time::sleep(1000 * MS).await;
    let takes = 500 * MS;
    let both = tokio::join!(ask(near, takes), ask(far, takes));
    assert_eq!(both, (2, 2));
    let counted = pods
        .each_ref()
        .map(|pod| pod.snapshot_of("n").unwrap().incidents.double_check_hits);
    assert_eq!(counted, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_only_a_follower_meets_and_cannot_read_is_counted_once() {
    let (_, pod, way) = two().await;
    let ledger = Ledger::default();
    way.plants(b"somebody else wrote this, and it is long enough for a mark"[..].into());
    assert_eq!(call(&pod, &ledger).await, 1);
    let page = pod.snapshot_of("n").unwrap();
    assert_eq!(page.incidents.undecodable, 1);
    assert_eq!((page.outcomes.led, page.executions.cold), (1, 1));
    assert_eq!(call(&pod, &ledger).await, 2);
    assert_eq!(pod.counts().undecodable, 1);
}
