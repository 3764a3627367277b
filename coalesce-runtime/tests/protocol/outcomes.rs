//! The table of outcomes: errors, panics, oversized bodies, and who gets what.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coalesce_runtime::{Coalescer, Error, OnError};
use tokio::time::Instant;

use crate::fleet::{Failure, Fleet, Ledger, MS, all, in_flight_only, retaining};

#[tokio::test(start_paused = true)]
async fn an_error_is_shared_by_every_follower_and_nobody_runs_again() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    let begun = Instant::now();
    let answers = all(&fleet, 52, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .try_run(move || async move {
                    ledger.run(100 * MS).await;
                    Err::<u64, _>(Failure::Body("db down".into()))
                })
                .await
        }
    })
    .await;
    assert_eq!(ledger.runs(), 1);
    assert_eq!(begun.elapsed(), 100 * MS);
    let own = answers
        .iter()
        .filter(|answer| **answer == Err(Failure::Body("db down".into())))
        .count();
    let shared = Failure::Ours(Error::Failed {
        namespace: "n".into(),
        message: Some("db down".into()),
    });
    let others = answers
        .iter()
        .filter(|answer| **answer == Err(shared.clone()))
        .count();
    assert_eq!(
        (own, others),
        (1, 51),
        "the leader's own caller gets the original"
    );
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_behind_an_error_leads_a_new_flight() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    for expected in 1..=3 {
        let answers = all(&fleet, 10, |pod, _| {
            let ledger = ledger.clone();
            async move {
                pod.call("n")
                    .key(1)
                    .policy(retaining(1_000, 1_000))
                    .try_run(move || async move {
                        let run = ledger.run(10 * MS).await;
                        if run < 3 {
                            Err(Failure::Body("down".into()))
                        } else {
                            Ok(run)
                        }
                    })
                    .await
            }
        })
        .await;
        assert_eq!(ledger.runs(), expected);
        assert!(
            answers
                .iter()
                .all(|answer| answer.is_ok() == (expected == 3))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn with_retry_exactly_one_follower_leads_again_and_the_rest_share_its_result() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let answers = all(&fleet, 30, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .policy(in_flight_only(30_000, 45_000).on_error(OnError::Retry))
                .try_run(move || async move {
                    let run = ledger.run(50 * MS).await;
                    if run == 1 {
                        Err(Failure::Body("down".into()))
                    } else {
                        Ok(run)
                    }
                })
                .await
        }
    })
    .await;
    assert_eq!(ledger.runs(), 2);
    assert_eq!(
        answers.iter().filter(|answer| answer.is_err()).count(),
        1,
        "only the first leader's own caller"
    );
    assert_eq!(
        answers.iter().filter(|answer| **answer == Ok(2)).count(),
        29
    );
}

#[tokio::test(start_paused = true)]
async fn a_kept_error_is_served_until_its_time_is_over() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let call = || {
        let ledger = ledger.clone();
        let policy = in_flight_only(30_000, 45_000).keep_errors(2_000 * MS);
        fleet.pods[0]
            .call("n")
            .key(1)
            .policy(policy)
            .try_run(move || async move {
                ledger.run(MS).await;
                Err::<u64, _>(Failure::Body("no such order".into()))
            })
    };
    for (pause, runs) in [(0, 1), (1_900, 1), (200, 2)] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        assert!(call().await.is_err());
        assert_eq!(ledger.runs(), runs);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_told_at_once_and_exactly_one_follower_takes_over() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let begun = Instant::now();
    let calls: Vec<_> = (0..30)
        .map(|index| {
            let (pod, ledger) = (fleet.pods[index % 3].clone(), ledger.clone());
            tokio::spawn(async move {
                pod.call("n")
                    .key(1)
                    .run(move || async move {
                        let run = ledger.run(50 * MS).await;
                        assert!(run > 1, "the first run panics");
                        run
                    })
                    .await
            })
        })
        .collect();
    let mut panicked = 0;
    for call in calls {
        match call.await {
            Ok(run) => assert_eq!(run, 2),
            Err(error) => panicked += usize::from(error.is_panic()),
        }
    }
    assert_eq!(
        (panicked, ledger.runs()),
        (1, 2),
        "the leader's own caller meets the panic"
    );
    assert!(begun.elapsed() < 200 * MS, "{:?}", begun.elapsed());
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn after_two_abandoned_flights_followers_stop_trying() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let calls: Vec<_> = (0..30)
        .map(|index| {
            let (pod, ledger) = (fleet.pods[index % 3].clone(), ledger.clone());
            tokio::spawn(async move {
                pod.call("n")
                    .key(1)
                    .try_run(move || async move {
                        ledger.run(50 * MS).await;
                        panic!("always");
                        #[expect(unreachable_code, reason = "names the type")]
                        Ok::<u64, Failure>(0)
                    })
                    .await
            })
        })
        .collect();
    let mut gave_up = 0;
    for call in calls {
        if let Ok(answer) = call.await {
            assert_eq!(
                answer,
                Err(Failure::Ours(Error::Abandoned {
                    namespace: "n".into()
                }))
            );
            gave_up += 1;
        }
    }
    assert!(ledger.runs() <= 4, "{} runs", ledger.runs());
    assert_eq!(gave_up + ledger.runs(), 30);
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn an_oversized_value_sends_each_other_process_to_run_for_itself_in_parallel() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    let begun = Instant::now();
    let lengths = all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let policy = in_flight_only(30_000, 45_000).max_payload(1_000);
            let text: String = pod
                .call("n")
                .key(1)
                .policy(policy)
                .run(move || async move {
                    ledger.run(100 * MS).await;
                    "x".repeat(5_000)
                })
                .await;
            text.len()
        }
    })
    .await;
    assert_eq!(lengths, vec![5_000; 40]);
    assert_eq!(
        ledger.runs(),
        4,
        "one for each process; callers that share the leader's share its value"
    );
    assert_eq!(begun.elapsed(), 200 * MS, "not one after another");
    let too_large: u64 = fleet.pods.iter().map(|pod| pod.counts().too_large).sum();
    assert_eq!(too_large, 4);
    fleet.assert_nothing_left().await;
}

/// So many lists, each in the next.
#[derive(serde::Serialize, serde::Deserialize)]
struct Lists(Vec<Lists>);

impl Lists {
    fn nested(levels: usize) -> Self {
        (0..levels).fold(Self(vec![]), |inner, _| Self(vec![inner]))
    }

    fn levels(&self) -> usize {
        self.0.first().map_or(0, |inner| 1 + inner.levels())
    }
}

/// What its own readers refuse must not be stored as if they could read it.
#[tokio::test(start_paused = true)]
async fn a_value_too_deep_to_be_read_is_each_callers_own_and_none_waits_for_the_next() {
    // Each is a structure and a list. The flight, one run for each process, and one for each caller.
    for (levels, runs, takes, told) in [(63, 1, 100, 0), (64, 40, 300, 9)] {
        let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
        let round = || {
            all(&fleet, 40, |pod, _| {
                let ledger = ledger.clone();
                async move {
                    let call = pod.call("n").key(1).policy(retaining(60_000, 60_000));
                    let lists = call.run(move || async move {
                        ledger.run(100 * MS).await;
                        Lists::nested(levels)
                    });
                    lists.await.levels()
                }
            })
        };
        let begun = Instant::now();
        assert_eq!(round().await, vec![levels; 40]);
        assert_eq!(ledger.runs(), runs, "{levels}");
        assert_eq!(begun.elapsed(), takes * MS, "{levels}");
        assert_eq!(round().await, vec![levels; 40]);
        let counts: Vec<_> = fleet.pods.iter().map(Coalescer::counts).collect();
        let too_large: u64 = counts.iter().map(|counts| counts.too_large).sum();
        let undecodable: u64 = counts.iter().map(|counts| counts.undecodable).sum();
        assert_eq!((too_large, undecodable), (told, 0), "{levels}");
        fleet.assert_nothing_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_at_the_ceiling_is_stored_and_one_above_is_not() {
    let fleet = Fleet::of(1).await;
    let runs = Arc::new(AtomicUsize::new(0));
    for (length, expected) in [(997_usize, 1), (998, 3)] {
        let policy = Arc::new((*retaining(60_000, 60_000)).clone().max_payload(1_000));
        runs.store(0, Ordering::SeqCst);
        for _ in 0..3 {
            let runs = runs.clone();
            let call = fleet.pods[0].call("n").key(length).policy(policy.clone());
            call.run(move || async move {
                runs.fetch_add(1, Ordering::SeqCst);
                "x".repeat(length)
            })
            .await;
        }
        assert_eq!(
            runs.load(Ordering::SeqCst),
            expected,
            "{length} characters and 3 bytes of header"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_oversized_value_reaches_the_only_follower_left_when_the_leading_caller_has_gone() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let call = || {
        let (pod, ledger) = (fleet.pods[0].clone(), ledger.clone());
        let policy = in_flight_only(30_000, 45_000).max_payload(1_000);
        tokio::spawn(async move {
            let call = pod.call("n").key(1).policy(policy);
            call.run(move || async move {
                ledger.run(100 * MS).await;
                "x".repeat(5_000)
            })
            .await
        })
    };
    let leader = call();
    tokio::time::sleep(10 * MS).await;
    let follower = call();
    tokio::time::sleep(10 * MS).await;
    leader.abort();
    assert_eq!((follower.await.unwrap().len(), ledger.runs()), (5_000, 1));
}
