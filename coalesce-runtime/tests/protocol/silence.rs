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

/// P9. A millisecond behind each poll, and a millisecond before it: what it costs is the rest of that interval.
#[tokio::test(start_paused = true)]
async fn a_lost_message_costs_what_is_left_until_the_next_poll_and_no_moment_more() {
    // 50 ms, then twice as long each, a second at most.
    let polls = [50, 150, 350, 750, 1_550, 2_550, 3_550, 4_550, 9_550, 20_550];
    let intervals = [50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000];
    for (poll, interval) in polls.into_iter().zip(intervals) {
        for late in [1, interval - 1] {
            let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
            let way = Way::to(&inner);
            way.loses_messages();
            let pod = |way| Coalescer::builder().coordinator(way).build();
            let (one, two) = (pod(Way::to(&inner)), pod(way));
            let (one, two) = (one.await.unwrap(), two.await.unwrap());
            let call = |pod: &Coalescer, takes: u32| {
                let (call, ledger) = (pod.call("n").key(1), ledger.clone());
                let call = call.run(move || async move { ledger.run(takes * MS).await });
                tokio::spawn(async move { (call.await, Instant::now()) })
            };
            let leader = call(&one, 10 + poll - late);
            tokio::time::sleep(10 * MS).await;
            let follower = call(&two, 0);
            let ((led, ended), (shared, heard)) = (leader.await.unwrap(), follower.await.unwrap());
            assert_eq!((led, shared, ledger.runs()), (1, 1, 1));
            assert_eq!(heard - ended, late * MS, "the poll after {poll} ms");
            let outcomes = two.snapshot_of("n").unwrap().outcomes;
            assert_eq!((outcomes.followed, outcomes.timed_out), (1, 0));
        }
    }
}
