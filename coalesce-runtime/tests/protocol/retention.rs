//! Fresh, stale, refresh: P12 and stale-while-revalidate.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::coordination::Coordinator;
use coalesce_runtime::{Coalescer, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Failure, Fleet, Ledger, MS, all, retaining};

async fn call(fleet: &Fleet, pod: usize, ledger: &Ledger) -> u64 {
    let ledger = ledger.clone();
    let call = fleet.pods[pod]
        .call("n")
        .key(1)
        .policy(retaining(1_000, 10_000));
    call.run(move || async move { ledger.run(100 * MS).await })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_is_answered_at_once_and_refreshed_once_in_the_whole_fleet() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    assert_eq!(call(&fleet, 0, &ledger).await, 1);
    tokio::time::sleep(1_200 * MS).await;
    let begun = Instant::now();
    let answers = all(&fleet, 200, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1).policy(retaining(1_000, 10_000));
            call.run(move || async move { ledger.run(100 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!(answers, vec![1; 200]);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    tokio::time::sleep(200 * MS).await;
    assert_eq!(ledger.runs(), 2);
    assert_eq!(call(&fleet, 3, &ledger).await, 2);
    assert_eq!(ledger.runs(), 2);
    assert_eq!(
        fleet
            .pods
            .iter()
            .map(|pod| pod.counts().refreshes)
            .sum::<u64>(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_refresh_goes_on_when_the_caller_that_started_it_goes_away() {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    call(&fleet, 0, &ledger).await;
    tokio::time::sleep(1_200 * MS).await;
    call(&fleet, 0, &ledger).await;
    tokio::time::sleep(150 * MS).await;
    assert_eq!(call(&fleet, 0, &ledger).await, 2);
}

#[tokio::test(start_paused = true)]
async fn behind_its_stale_time_a_value_is_gone_and_one_caller_computes_it_for_all() {
    let (fleet, ledger) = (Fleet::of(4).await, Ledger::default());
    call(&fleet, 0, &ledger).await;
    tokio::time::sleep(10_000 * MS).await;
    let answers = all(&fleet, 40, |pod, _| {
        let ledger = ledger.clone();
        async move {
            let call = pod.call("n").key(1).policy(retaining(1_000, 10_000));
            call.run(move || async move { ledger.run(100 * MS).await })
                .await
        }
    })
    .await;
    assert_eq!((answers, ledger.runs()), (vec![2; 40], 2));
}

#[tokio::test(start_paused = true)]
async fn a_value_slower_to_compute_than_it_is_fresh_still_advances() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    let mut newest = 0;
    for round in 0..20 {
        let ledger = ledger.clone();
        let call = fleet.pods[round % 2]
            .call("n")
            .key(1)
            .policy(retaining(50, 60_000));
        newest = call
            .run(move || async move { ledger.run(300 * MS).await })
            .await;
        tokio::time::sleep(200 * MS).await;
    }
    assert!(newest >= 8, "{newest}");
    assert_eq!(ledger.most_at_once(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failing_refresh_keeps_the_value_and_pauses_longer_each_time() {
    let (fleet, ledger) = (Fleet::of(3).await, Ledger::default());
    let mut attempts = Vec::new();
    let begun = Instant::now();
    // A call every 50 ms from alternating pods, for ten seconds behind the fresh time.
    for round in 0..240 {
        let (body, runs) = (ledger.clone(), ledger.runs());
        let call = fleet.pods[round % 3]
            .call("n")
            .key(1)
            .policy(retaining(1_000, 60_000));
        let answer = call
            .try_run(move || async move {
                let run = body.run(MS).await;
                if run == 1 {
                    Ok(run)
                } else {
                    Err(Failure::Body("down".into()))
                }
            })
            .await;
        assert_eq!(answer, Ok(1), "the stored value stays");
        tokio::time::sleep(50 * MS).await;
        if ledger.runs() > runs && ledger.runs() > 1 {
            attempts.push(begun.elapsed().as_millis());
        }
    }
    let gaps: Vec<_> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps.len(), 3, "attempts at {attempts:?}");
    for (gap, pause) in gaps.iter().zip([1_000, 2_000, 4_000]) {
        assert!((pause..pause + 200).contains(gap), "gaps {gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_refresh_is_a_failed_one() {
    let (fleet, ledger) = (Fleet::of(2).await, Ledger::default());
    for round in 0..40 {
        let body = ledger.clone();
        let call = fleet.pods[round % 2]
            .call("n")
            .key(1)
            .policy(retaining(1_000, 60_000));
        let answer = call
            .run(move || async move {
                let run = body.run(MS).await;
                assert!(run == 1, "only the first run returns");
                run
            })
            .await;
        assert_eq!(answer, 1);
        tokio::time::sleep(50 * MS).await;
    }
    assert_eq!(ledger.runs(), 2, "one value, one refresh, then the pause");
}

#[tokio::test(start_paused = true)]
async fn refreshes_of_one_process_are_bounded_in_number() {
    let ledger = Ledger::default();
    let pod = Coalescer::builder()
        .in_process()
        .max_refreshes(8)
        .build()
        .await
        .unwrap();
    for _ in 0..2 {
        for key in 0..100 {
            let ledger = ledger.clone();
            let call = pod.call("n").key(key).policy(retaining(1_000, 60_000));
            call.run(move || async move { ledger.run(10 * MS).await })
                .await;
        }
        tokio::time::sleep(2_000 * MS).await;
        assert!(ledger.runs() <= 108, "{} runs", ledger.runs());
    }
    assert_eq!(ledger.runs(), 108);
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_another_process_is_at_takes_no_place_from_other_keys() {
    let coordinator: Arc<dyn Coordinator> = Arc::new(MemoryCoordinator::new());
    let pod = || {
        Coalescer::builder()
            .coordinator(coordinator.clone())
            .max_refreshes(1)
            .build()
    };
    let (one, two) = (pod().await.unwrap(), pod().await.unwrap());
    let ledger = Ledger::default();
    let call = |pod: &Coalescer, key: u32| {
        let (call, ledger) = (pod.call("n").key(key), ledger.clone());
        call.policy(retaining(1_000, 60_000))
            .run(move || async move { ledger.run(100 * MS).await })
    };
    call(&one, 1).await;
    call(&one, 2).await;
    tokio::time::sleep(2_000 * MS).await;
    call(&one, 1).await;
    tokio::time::sleep(10 * MS).await;
    call(&two, 1).await;
    tokio::time::sleep(10 * MS).await;
    call(&two, 2).await;
    tokio::time::sleep(10 * MS).await;
    assert_eq!(ledger.runs(), 4, "both keys are being refreshed");
}
