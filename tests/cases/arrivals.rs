//! Callers one after another: how many runs they share, and that nobody gets an outcome older than its call.

use std::time::Duration;

use coalesce::coalesce;
use tokio::time::Instant;

use crate::scene::{MS, Pod, Scene, answers, callers};

#[coalesce(key = id, skip(pod, span), coalescer = pod.coalescer)]
async fn in_flight(pod: &Pod, id: u64, span: Duration) -> u64 {
    pod.ledger.run(span).await
}

/// `count` callers, one each millisecond: when each arrived and which run it was answered with.
async fn one_each_millisecond(pod: &Pod, count: usize) -> Vec<(Instant, u64)> {
    let start = Instant::now();
    let staggered = callers(count, |number| {
        let pod = pod.clone();
        async move {
            tokio::time::sleep_until(start + Duration::from_millis(number as u64)).await;
            let arrived = Instant::now();
            (arrived, in_flight(&pod, 1, 100 * MS).await)
        }
    });
    answers(staggered).await
}

/// I-06.
#[tokio::test]
async fn a_thousand_staggered_callers_share_a_dozen_runs_that_end_after_they_arrived() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let got = one_each_millisecond(&pod, 1_000).await;
    assert_eq!(got.len(), 1_000);
    for (arrived, run) in &got {
        assert!(
            scene.ledger.ended(*run) >= *arrived,
            "run {run} had ended before its caller arrived"
        );
    }
    let mut runs: Vec<_> = got.iter().map(|(_, run)| *run).collect();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), scene.ledger.runs(), "a run was nobody's answer");
    assert_eq!(scene.ledger.most_at_once(), 1);
    // 10 to 13 on an idle machine. Runs take longer on a busy one, never shorter: there are fewer of them.
    assert!((5..=13).contains(&runs.len()), "{} runs", runs.len());
    scene.assert_nothing_left(&[pod]).await;
}

/// I-15.
#[tokio::test]
async fn a_hundred_callers_within_one_body_share_one_or_two_runs() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let got = one_each_millisecond(&pod, 100).await;
    assert_eq!(got.len(), 100);
    assert!(
        (1..=2).contains(&scene.ledger.runs()),
        "{} runs",
        scene.ledger.runs()
    );
}

///
#[tokio::test]
async fn ten_closed_loops_of_twenty_calls_are_twenty_runs_one_at_a_time() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let begun = Instant::now();
    answers(callers(10, |_| {
        let pod = pod.clone();
        async move {
            for _ in 0..20 {
                in_flight(&pod, 1, 20 * MS).await;
            }
        }
    }))
    .await;
    assert_eq!(scene.ledger.most_at_once(), 1);
    assert!(
        (20..=21).contains(&scene.ledger.runs()),
        "{} runs",
        scene.ledger.runs()
    );
    assert!(begun.elapsed() < 3_000 * MS, "{:?}", begun.elapsed());
    scene.assert_nothing_left(&[pod]).await;
}

///
#[tokio::test]
async fn a_caller_that_calls_again_when_answered_makes_a_second_run_and_no_more() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let waves = answers(callers(10, |number| {
        let pod = pod.clone();
        async move {
            let first = in_flight(&pod, 1, 50 * MS).await;
            let second = match number {
                0 => Some(in_flight(&pod, 1, 50 * MS).await),
                _ => None,
            };
            (first, second)
        }
    }))
    .await;
    assert_eq!(scene.ledger.runs(), 2);
    assert_eq!(waves[0], (1, Some(2)));
    assert_eq!(waves[1..], [(1, None); 9]);
}
