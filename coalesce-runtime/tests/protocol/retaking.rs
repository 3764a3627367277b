//! A lock that is gone: for how long its flight may take it again without undoing what happened since.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, Envelope, ReplaceAsk, Status, Token,
};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Ledger, MS};
use crate::way::Way;

async fn pod(coordinator: Arc<dyn Coordinator>) -> Coalescer {
    Coalescer::builder()
        .coordinator(coordinator)
        .build()
        .await
        .unwrap()
}

async fn call(pod: Coalescer, ledger: Ledger, span: u32) -> u64 {
    pod.call("n")
        .key(1)
        .run(move || async move { ledger.run(span * MS).await })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_takes_its_lock_again_while_the_state_can_tell_that_nothing_happened()
 {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = pod(way.clone()).await;
    let slow = tokio::spawn(call(one, ledger, 8_000));
    tokio::time::sleep(1_500 * MS).await;
    way.cut(Fault::Disconnected);
    // The lease has ended by then.
    tokio::time::sleep(3_200 * MS).await;
    way.heal();
    assert_eq!(slow.await.unwrap(), 1);
    let state = inner.read(&Key::new("n", &[&1])).await.unwrap();
    assert!(state.is_some(), "a value that was computed is kept");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_for_longer_undoes_no_outcome_that_came_and_went() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let (one, two) = (pod(way.clone()).await, pod(Arc::new(inner.clone())).await);
    let slow = tokio::spawn(call(one, ledger.clone(), 20_000));
    tokio::time::sleep(500 * MS).await;
    way.cut(Fault::Disconnected);
    tokio::time::sleep(4_500 * MS).await;
    // Another flight's outcome comes, is kept for its delivery, and goes.
    assert_eq!(call(two.clone(), ledger.clone(), 100).await, 2);
    tokio::time::sleep(9_900 * MS).await;
    way.heal();
    tokio::time::sleep(2_000 * MS).await;
    let begun = Instant::now();
    assert_eq!(call(two, ledger, 100).await, 3);
    assert_eq!(begun.elapsed(), 100 * MS, "nobody holds the lock");
    tokio::time::sleep(6_000 * MS).await;
    assert_eq!(slow.await.unwrap(), 1, "its own caller gets its own value");
    let state = inner.read(&Key::new("n", &[&1])).await.unwrap();
    assert_eq!(state, None, "the older outcome is not the newest");
}

/// FINISH does not arrive at first, and the flight has been invalidated: it is not for newcomers, but nobody abandoned it.
#[tokio::test(start_paused = true)]
async fn those_who_had_joined_an_invalidated_flight_get_the_outcome_of_a_finish_that_is_said_again()
{
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let (one, two) = (pod(way.clone()).await, pod(Arc::new(inner.clone())).await);
    let leader = tokio::spawn(call(one, ledger.clone(), 500));
    tokio::time::sleep(100 * MS).await;
    let follower = tokio::spawn(call(two.clone(), ledger.clone(), 500));
    tokio::time::sleep(100 * MS).await;
    let nothing = Envelope::new(
        Status::Invalidated,
        0,
        Token::random(),
        Duration::ZERO,
        "".into(),
    );
    let ask = ReplaceAsk {
        envelope: nothing,
        life: 10_000 * MS,
    };
    inner.replace(&Key::new("n", &[&1]), &ask).await.unwrap();
    way.cut(Fault::Disconnected);
    tokio::time::sleep(400 * MS).await;
    way.heal();
    let answers = [leader.await.unwrap(), follower.await.unwrap()];
    assert_eq!((answers, ledger.runs()), ([1, 1], 1));
    assert_eq!(call(two, ledger, 100).await, 2, "newcomers run anew");
}

/// The lock is lost with its server's memory, and outcomes do not live for as long as a lease.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_lives_for_less_than_a_lease_is_not_undone_either() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let brief = |coordinator: Arc<dyn Coordinator>| async {
        let builder = Coalescer::builder().coordinator(coordinator);
        builder.delivery_window(300 * MS).build().await.unwrap()
    };
    let (one, two) = (
        brief(way.clone()).await,
        brief(Arc::new(inner.clone())).await,
    );
    let slow = tokio::spawn(call(one, ledger.clone(), 5_000));
    tokio::time::sleep(100 * MS).await;
    way.cut(Fault::Disconnected);
    let key = Key::new("n", &[&1]);
    let stranger = BeginAsk {
        token: Token::random(),
        lease: MS,
        seen: None,
        following: None,
        trace: None,
    };
    let answer = inner.begin(&key, &stranger).await.unwrap();
    let BeginAnswer::Follow { leader, .. } = answer else {
        panic!("{answer:?}")
    };
    inner
        .abandon(&key, AbandonAsk::body_failed(leader))
        .await
        .unwrap();
    assert_eq!(call(two.clone(), ledger.clone(), 100).await, 2);
    tokio::time::sleep(500 * MS).await;
    way.heal();
    tokio::time::sleep(500 * MS).await;
    let begun = Instant::now();
    assert_eq!(call(two, ledger, 100).await, 3);
    assert_eq!(begun.elapsed(), 100 * MS, "nobody holds the lock");
    assert_eq!(slow.await.unwrap(), 1, "its own caller gets its own value");
}

/// Nobody in the leader's process could know that its lock was another's by then.
#[tokio::test(start_paused = true)]
async fn who_came_to_a_leader_that_had_lost_its_lock_follows_the_one_that_has_it() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let (one, two) = (pod(way.clone()).await, pod(Arc::new(inner.clone())).await);
    let slow = tokio::spawn(call(one.clone(), ledger.clone(), 20_000));
    tokio::time::sleep(500 * MS).await;
    way.cut(Fault::Disconnected);
    tokio::time::sleep(4_000 * MS).await;
    let newer = tokio::spawn(call(two, ledger.clone(), 5_000));
    tokio::time::sleep(500 * MS).await;
    let begun = Instant::now();
    let late = tokio::spawn(call(one, ledger.clone(), 100));
    tokio::time::sleep(1_000 * MS).await;
    way.heal();
    assert_eq!(late.await.unwrap(), 2);
    assert_eq!(begun.elapsed(), 4_500 * MS);
    assert_eq!((newer.await.unwrap(), slow.await.unwrap()), (2, 1));
}
