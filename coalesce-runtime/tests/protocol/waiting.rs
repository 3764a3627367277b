//! P4, P5, P6, P7: how long followers wait, and who replaces a leader that is gone.

use coalesce_runtime::coordination::{BeginAsk, Coordinator as _, Token};
use coalesce_runtime::{Error, Key};
use tokio::time::Instant;

use crate::fleet::{Failure, Fleet, Ledger, MS, all, in_flight_only};

#[tokio::test(start_paused = true)]
async fn a_follower_gives_up_at_its_wait_timeout_and_the_flight_goes_on() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    let answers = all(&fleet, 10, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let answer = pod
                .call("n")
                .key(1)
                .policy(in_flight_only(40, 50))
                .try_run(move || async move { Ok::<_, Failure>(ledger.run(35 * MS).await) })
                .await;
            (answer, begun.elapsed())
        }
    })
    .await;
    assert!(
        answers
            .iter()
            .all(|(answer, at)| *answer == Ok(1) && *at < 50 * MS)
    );

    let held = Key::new("n", &[&2]);
    let ask = BeginAsk {
        token: Token::random(),
        lease: 10_000 * MS,
        seen: None,
        following: None,
        trace: None,
    };
    fleet.coordinator.begin(&held, &ask).await.unwrap();
    let begun = Instant::now();
    let answers = all(&fleet, 10, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(2)
                .policy(in_flight_only(40, 50))
                .try_run(move || async move { Ok::<_, Failure>(ledger.run(MS).await) })
                .await
        }
    })
    .await;
    let timed_out = Failure::Ours(Error::WaitTimeout {
        namespace: "n".into(),
        limit: 50 * MS,
    });
    assert_eq!(answers, vec![Err(timed_out); 10]);
    assert_eq!(begun.elapsed(), 50 * MS);
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn plain_functions_that_give_up_run_once_per_process() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let held = Key::new("n", &[&1]);
    let ask = BeginAsk {
        token: Token::random(),
        lease: 10_000 * MS,
        seen: None,
        following: None,
        trace: None,
    };
    fleet.coordinator.begin(&held, &ask).await.unwrap();
    let answers = all(&fleet, 60, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let policy = in_flight_only(40, 50);
            pod.call("n")
                .key(1)
                .policy(policy)
                .run(move || async move { ledger.run(20 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!((answers.len(), ledger.runs()), (60, 3));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_leader_is_replaced_by_a_follower_that_was_waiting() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    // A leader that will never renew: what a killed process leaves behind.
    let key = Key::new("n", &[&1]);
    let ask = BeginAsk {
        token: Token::random(),
        lease: 3_000 * MS,
        seen: None,
        following: None,
        trace: None,
    };
    fleet.coordinator.begin(&key, &ask).await.unwrap();
    let begun = Instant::now();
    let answers = all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(200 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!((answers, ledger.runs()), (vec![1; 40], 1));
    assert!(
        begun.elapsed() >= 3_200 * MS && begun.elapsed() < 3_300 * MS,
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(
        fleet
            .pods
            .iter()
            .map(|pod| pod.counts().takeovers)
            .sum::<u64>(),
        1
    );
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_live_leader_slower_than_its_lease_is_not_doubled() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    let answers = all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(20_000 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!((answers, ledger.runs()), (vec![1; 40], 1));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_flight_that_outlives_pending_is_taken_over_and_its_own_caller_gets_its_own_value() {
    for pods in [1, 3] {
        let (fleet, ledger) = (Fleet::of(pods).await, Ledger::default());
        let answers = all(&fleet, 30, |pod, _| {
            let ledger = ledger.clone();
            async move {
                let policy = in_flight_only(5_000, 20_000);
                pod.call("n")
                    .key(1)
                    .policy(policy)
                    .run(move || async move {
                        let slow = ledger.runs() == 0;
                        ledger.run(if slow { 10_000 } else { 100 } * MS).await
                    })
                    .await
            }
        })
        .await;
        assert_eq!(ledger.runs(), 2, "{pods} pods");
        assert_eq!(
            answers.iter().filter(|run| **run == 1).count(),
            1,
            "{pods} pods: {answers:?}"
        );
        fleet.assert_nothing_left().await;
    }
}
