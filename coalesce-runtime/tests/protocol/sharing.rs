//! P1, P3, P10, P11, P17, P18: who runs, who shares, and what is left behind.

use std::time::Duration;

use coalesce_runtime::contract::{Call, CallSite, place, shape};
use tokio::time::Instant;

use crate::fleet::{Fleet, Ledger, MS, all, in_flight_only, retaining};

#[tokio::test(start_paused = true)]
async fn callers_of_one_key_in_one_process_share_one_run() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let begun = Instant::now();
    let answers = all(&fleet, 50, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(100 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!(answers, vec![1; 50]);
    assert_eq!(ledger.runs(), 1);
    assert_eq!(begun.elapsed(), 100 * MS);
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn callers_of_one_key_in_many_processes_share_one_run() {
    let (fleet, ledger) = (Fleet::of(12).await, Ledger::default());
    let answers = all(&fleet, 600, |pod, _| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(200 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!(answers, vec![1; 600]);
    assert_eq!(ledger.runs(), 1);
    let (led, followed) = fleet.pods.iter().fold((0, 0), |sum, pod| {
        (sum.0 + pod.counts().led, sum.1 + pod.counts().followed)
    });
    assert_eq!((led, followed), (1, 599));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn each_key_is_shared_independently_and_keys_never_wait_for_each_other() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    let begun = Instant::now();
    all(&fleet, 400, |pod, index| {
        let ledger = ledger.clone();
        async move {
            pod.call("n")
                .key(index % 100)
                .run(move || async move { ledger.run(200 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!(ledger.runs(), 100);
    assert!(begun.elapsed() < 300 * MS, "{:?}", begun.elapsed());
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn closed_loops_keep_the_overlap_at_one() {
    for pods in [1, 4] {
        let (fleet, ledger) = (Fleet::of(pods).await, Ledger::default());
        let begun = Instant::now();
        all(&fleet, 10, |pod, _| {
            let ledger = ledger.clone();
            async move {
                for _ in 0..20 {
                    let ledger = ledger.clone();
                    pod.call("n")
                        .key(1)
                        .run(move || async move { ledger.run(20 * MS).await })
                        .await;
                }
            }
        })
        .await;
        assert_eq!(ledger.most_at_once(), 1, "{pods} pods");
        let most = if pods == 1 { 21 } else { 25 };
        assert!(
            (20..=most).contains(&ledger.runs()),
            "{pods} pods: {} runs",
            ledger.runs()
        );
        assert!(begun.elapsed() <= 600 * MS, "{:?}", begun.elapsed());
        fleet.assert_nothing_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_waves_are_two_runs() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    all(&fleet, 10, |pod, index| {
        let ledger = ledger.clone();
        async move {
            for _ in 0..=usize::from(index == 0) {
                let ledger = ledger.clone();
                pod.call("n")
                    .key(1)
                    .run(move || async move { ledger.run(20 * MS).await })
                    .await;
            }
        }
    })
    .await;
    assert_eq!(ledger.runs(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_receives_an_outcome_that_ended_before_it_arrived() {
    for pods in [1, 4] {
        let (fleet, ledger) = (Fleet::of(pods).await, Ledger::default());
        let calls = all(&fleet, 1_000, |pod, index| {
            let ledger = ledger.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(index as u64)).await;
                let arrived = Instant::now();
                let run = pod
                    .call("n")
                    .key(1)
                    .run(move || async move { ledger.run(100 * MS).await })
                    .await;
                (arrived, run)
            }
        })
        .await;
        for (arrived, run) in calls {
            assert!(
                ledger.ended(run) >= arrived,
                "run {run} had ended before the caller arrived"
            );
        }
        assert!(
            (9..=13).contains(&ledger.runs()),
            "{pods} pods: {} runs",
            ledger.runs()
        );
        assert_eq!(ledger.most_at_once(), 1);
        fleet.assert_nothing_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_leading_caller_strands_nobody_and_the_flight_goes_on() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let call = |pod: usize| {
        let (pod, ledger) = (fleet.pods[pod].clone(), ledger.clone());
        tokio::spawn(async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(100 * MS).await })
                .await
        })
    };
    let leader = call(0);
    tokio::time::sleep(10 * MS).await;
    let (here, there) = (call(0), call(1));
    tokio::time::sleep(10 * MS).await;
    leader.abort();
    assert_eq!((here.await.unwrap(), there.await.unwrap()), (1, 1));
    assert_eq!(ledger.runs(), 1);
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn dropped_followers_change_nothing_and_leave_nothing() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let calls: Vec<_> = (0..30)
        .map(|index| {
            let (pod, ledger) = (fleet.pods[index % 3].clone(), ledger.clone());
            tokio::spawn(async move {
                pod.call("n")
                    .key(1)
                    .run(move || async move { ledger.run(100 * MS).await })
                    .await
            })
        })
        .collect();
    tokio::time::sleep(50 * MS).await;
    for call in calls.iter().skip(3).step_by(2) {
        call.abort();
    }
    let answered = {
        let mut answered = 0;
        for call in calls {
            answered += usize::from(call.await.is_ok());
        }
        answered
    };
    assert_eq!((answered, ledger.runs()), (16, 1));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_flight_that_reaches_its_own_key_runs_through() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let pod = fleet.pods[0].clone();
    let begun = Instant::now();
    let value = pod
        .clone()
        .call("n")
        .key(1)
        .run(move || async move {
            let (inner, again) = (pod.clone(), ledger.clone());
            pod.call("other")
                .key(1)
                .run(move || async move {
                    inner
                        .call("n")
                        .key(1)
                        .run(move || async move { again.run(10 * MS).await })
                        .await
                })
                .await
        })
        .await;
    assert_eq!((value, begun.elapsed()), (1, 10 * MS));
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn nested_keys_in_opposite_order_are_bounded_by_the_wait_timeout() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let begun = Instant::now();
    all(&fleet, 2, |pod, index| {
        let ledger = ledger.clone();
        let policy = in_flight_only(1_000, 2_000);
        async move {
            let (outer, inner) = if index == 0 { (1, 2) } else { (2, 1) };
            let nested = policy.clone();
            pod.clone()
                .call("n")
                .key(outer)
                .policy(policy)
                .run(move || async move {
                    ledger.run(300 * MS).await;
                    pod.call("n")
                        .key(inner)
                        .policy(nested)
                        .run(move || async move { ledger.run(300 * MS).await })
                        .await
                })
                .await
        }
    })
    .await;
    assert!(begun.elapsed() < 4_000 * MS, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_before_the_first_poll() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    drop(
        fleet.pods[0]
            .call("n")
            .key(1)
            .run(move || async move { ledger.run(MS).await }),
    );
    assert_eq!(fleet.pods[0].in_flight(), 0);
    fleet.assert_nothing_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_warm_key_is_answered_without_a_run_in_every_process() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    for round in 0..2 {
        all(&fleet, 40, |pod, _| {
            let ledger = ledger.clone();
            async move {
                let policy = retaining(60_000, 60_000);
                pod.call("n")
                    .key(1)
                    .policy(policy)
                    .run(move || async move { ledger.run(100 * MS).await })
                    .await
            }
        })
        .await;
        assert_eq!(ledger.runs(), 1, "round {round}");
    }
    fleet.assert_nothing_left().await;
}

#[tokio::test]
async fn a_call_is_about_a_kibibyte_bigger_than_its_body_whatever_that_is() {
    async fn body<const BYTES: usize>() -> u64 {
        let held = [0_u8; BYTES];
        tokio::task::yield_now().await;
        held.len() as u64
    }
    static SITE: CallSite = CallSite::new("big", place!());
    let pod = Fleet::of(1).await.pods.remove(0);
    let call = || Call::new(&SITE, "big");
    let small = size_of_val(&body::<16>());
    let big = size_of_val(&body::<16_384>());
    for (name, small_call, big_call) in [
        (
            "call",
            size_of_val(&call().run(shape!(u64), body::<16>)),
            size_of_val(&call().run(shape!(u64), body::<16_384>)),
        ),
        (
            "inline",
            size_of_val(&call().run_inline(shape!(u64), body::<16>)),
            size_of_val(&call().run_inline(shape!(u64), body::<16_384>)),
        ),
        (
            "direct",
            size_of_val(&pod.call("big").run(body::<16>)),
            size_of_val(&pod.call("big").run(body::<16_384>)),
        ),
    ] {
        assert!(small_call <= small + 1_344, "{name}: {small_call}");
        assert!(big_call <= big + 1_344, "{name}: {big_call}");
    }
}
