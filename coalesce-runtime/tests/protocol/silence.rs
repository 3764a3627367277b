//! Silence: how long those who wait go on believing in a leader while nobody answers them.

use coalesce_runtime::coordination::{BeginAsk, Coordinator as _, Token};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Ledger, MS};
use crate::way::Way;

/// However long they have waited, and however wide their polls are by then. Two deadlines are 500 ms.
#[tokio::test(start_paused = true)]
async fn a_follower_runs_the_body_two_deadlines_after_its_first_question_without_an_answer() {
    let faults = [
        Fault::Timeout,
        Fault::Disconnected,
        Fault::Refused,
        Fault::Paused,
    ];
    for fault in faults {
        for waited in [60, 400, 10_000] {
            let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
            let elsewhere = BeginAsk {
                token: Token::random(),
                lease: 60_000 * MS,
                seen: None,
                following: None,
                trace: None,
            };
            let key = Key::new("n", &[&1]);
            inner.begin(&key, &elsewhere).await.unwrap();
            let way = Way::to(&inner);
            let builder = Coalescer::builder().coordinator(way.clone());
            let pod = builder.build().await.unwrap();
            let (call, body) = (pod.call("n").key(1), ledger.clone());
            let call = tokio::spawn(
                call.run(move || async move { body.run(std::time::Duration::ZERO).await }),
            );
            tokio::time::sleep(waited * MS).await;
            way.cut(fault);
            let cut = Instant::now();
            assert_eq!(call.await.unwrap(), 1);
            let asked = ledger.ended(1) - way.missed().unwrap();
            assert!(asked <= 501 * MS, "{fault:?} after {waited} ms: {asked:?}");
            // A poll comes when as long again is over as it has been waiting, and once in a second.
            let all = ledger.ended(1) - cut;
            assert!(
                all <= (501 + 1_051.min(waited + 51)) * MS,
                "{fault:?}: {all:?}"
            );
        }
    }
}
