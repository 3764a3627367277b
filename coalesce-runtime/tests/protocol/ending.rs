//! The orderly end of a process whose questions are on their way, and last words that cross other questions.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::coordination::{BeginAnswer, BeginAsk, Coordinator as _, Token};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};

use crate::fleet::{Ledger, MS};
use crate::way::Way;

async fn pod(way: &Arc<Way>) -> Coalescer {
    let builder = Coalescer::builder().coordinator(way.clone());
    builder.build().await.unwrap()
}

/// Whether anybody holds the lock of the key that these tests are about.
async fn is_free(inner: &MemoryCoordinator) -> bool {
    let ask = BeginAsk {
        token: Token::random(),
        lease: MS,
        seen: None,
        following: None,
        trace: None,
    };
    let answer = inner.begin(&Key::new("n", &[&1]), &ask).await.unwrap();
    matches!(answer, BeginAnswer::Lead { .. })
}

fn call(pod: &Coalescer, ledger: &Ledger, span: u32) -> tokio::task::JoinHandle<u64> {
    let ledger = ledger.clone();
    let call = pod.call("n").key(1);
    tokio::spawn(call.run(move || async move { ledger.run(span * MS).await }))
}

/// BEGIN was done and not answered, so the body runs for its process alone; the lock is there all the same.
#[tokio::test(start_paused = true)]
async fn a_shutdown_hands_over_a_lock_whose_grant_was_never_heard_of() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = pod(&way).await;
    way.loses_answers(true);
    let slow = call(&one, &ledger, 60_000);
    tokio::time::sleep(1_000 * MS).await;
    assert_eq!(ledger.runs(), 1, "on its own");
    assert!(!is_free(&inner).await);
    way.loses_answers(false);
    one.shutdown(10 * MS).await;
    assert!(is_free(&inner).await);
    slow.abort();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_an_outcome_on_its_way() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::long(&inner, 200 * MS);
    let one = pod(&way).await;
    let caller = call(&one, &ledger, 100);
    // BEGIN and the body, and FINISH is on its way.
    tokio::time::sleep(350 * MS).await;
    one.shutdown(10 * MS).await;
    let state = inner.read(&Key::new("n", &[&1])).await.unwrap();
    assert!(state.is_some(), "it is stored when the shutdown is over");
    assert_eq!(caller.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_hands_over_a_lock_whose_outcome_did_not_arrive() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = pod(&way).await;
    let caller = call(&one, &ledger, 100);
    tokio::time::sleep(50 * MS).await;
    way.cut(Fault::Disconnected);
    tokio::time::sleep(100 * MS).await;
    assert_eq!(caller.await.unwrap(), 1);
    way.heal();
    one.shutdown(Duration::ZERO).await;
    assert!(is_free(&inner).await);
}

/// The beat of the first second arrives behind ABANDON, unless that waits for it.
#[tokio::test(start_paused = true)]
async fn a_beat_on_its_way_does_not_take_a_lock_that_was_abandoned() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let way = Way::to(&inner);
    let one = pod(&way).await;
    let body = ledger.clone();
    let caller = one.call("n").key(1).run(move || async move {
        let run = body.run(1_050 * MS).await;
        assert_eq!(run, 0, "always");
    });
    way.delays_renewals(200 * MS);
    assert!(tokio::spawn(caller).await.is_err());
    tokio::time::sleep(500 * MS).await;
    assert!(is_free(&inner).await);
}
