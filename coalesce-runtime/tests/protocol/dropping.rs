//! P10: a caller that goes away, wherever it stands, strands nobody and leaves nothing.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use coalesce_runtime::Coalescer;

use crate::fleet::{Fleet, Ledger, MS, retaining};
use crate::way::Way;

/// What a caller is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Leads,
    /// The leader is in another process.
    Follows,
    /// The leader is in the same process.
    Joins,
    /// There is an old value, and a refresh behind it.
    IsServedAnOldValue,
}

type Call = Pin<Box<dyn Future<Output = u64> + Send>>;

fn call(fleet: &Fleet, ledger: &Ledger, pod: usize) -> Call {
    let (pod, ledger) = (fleet.pods[pod].clone(), ledger.clone());
    let call = pod.call("n").key(1).policy(retaining(10, 60_000));
    Box::pin(call.run(move || async move { ledger.run(5 * MS).await }))
}

/// Polls as often as something wakes it, and that many times at most. Answers whether it ended.
async fn polled_at_most(polls: usize, future: impl Future) -> bool {
    let (mut future, mut left) = (pin!(future), polls);
    std::future::poll_fn(|context| {
        let ended = left > 0 && future.as_mut().poll(context).is_ready();
        left = left.saturating_sub(1);
        if ended || left == 0 {
            Poll::Ready(ended)
        } else {
            Poll::Pending
        }
    })
    .await
}

/// A fleet whose questions take so long, so that each of them is an await point.
async fn far(trip: Duration) -> Fleet {
    let (mut fleet, mut pods) = (Fleet::of(0).await, Vec::new());
    for _ in 0..2 {
        let way = Way::long(&fleet.coordinator, trip);
        pods.push(Coalescer::builder().coordinator(way).build().await.unwrap());
    }
    fleet.pods = pods;
    fleet
}

/// The answer to somebody in another process, when this caller was dropped behind so many polls; and whether it had
/// ended by then.
async fn dropped(part: Part, trip: Duration, polls: usize) -> bool {
    let (fleet, ledger) = (far(trip).await, Ledger::default());
    let begun = |pod| tokio::spawn(call(&fleet, &ledger, pod));
    let leader = match part {
        Part::Leads => None,
        Part::Follows => Some(begun(1)),
        Part::Joins => Some(begun(0)),
        Part::IsServedAnOldValue => {
            begun(1).await.unwrap();
            tokio::time::sleep(20 * MS).await;
            None
        }
    };
    tokio::time::sleep(MS).await;
    let ended = polled_at_most(polls, call(&fleet, &ledger, 0)).await;
    let runs =
        |value: u64, most: u64| assert!((1..=most).contains(&value), "{part:?} {polls}: {value}");
    if let Some(leader) = leader {
        runs(leader.await.unwrap(), 1);
        assert_eq!(ledger.runs(), 1);
    }
    runs(begun(1).await.unwrap(), 2);
    // A refresh that somebody else was at rests for a while.
    tokio::time::sleep(10_000 * MS).await;
    assert!(ledger.runs() <= 2, "{part:?} {polls}: {}", ledger.runs());
    assert_eq!(ledger.most_at_once(), 1, "{part:?} {polls}");
    fleet.assert_nothing_left().await;
    ended
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_at_any_await_point_leaves_nothing() {
    use Part::{Follows, IsServedAnOldValue, Joins, Leads};
    for part in [Leads, Follows, Joins, IsServedAnOldValue] {
        let mut before = 0;
        for trip in [0, 2] {
            let mut polls = 0;
            while !dropped(part, trip * MS, polls).await {
                polls += 1;
                assert!(polls < 100, "{part:?} ends at some time");
            }
            // All but the last are answered by somebody, and are dropped at least once while they wait for that.
            assert!(polls > usize::from(part != IsServedAnOldValue), "{part:?}");
            // Who joins a flight of its own process asks nobody.
            assert!(
                polls > before || part == Joins,
                "{part:?}: each question is an await point"
            );
            before = polls;
        }
    }
}
