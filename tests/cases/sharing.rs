//! Callers at once: one run, one write, one answer for all.

use coalesce::coalesce;
use coalesce_rig::Monitor;
use tokio::time::Instant;

use crate::scene::{Gate, MS, Pod, Scene, answers, callers, eventually};

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s")]
async fn retained(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(100 * MS).await
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer)]
async fn in_flight(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(100 * MS).await
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer, entry = uncoalesced_entry)]
async fn uncoalesced(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(100 * MS).await
}

/// P18. All of them wait in one process, which has two connections for its questions.
#[tokio::test]
async fn five_thousand_waiters_keep_no_leader_from_renewing() {
    const KEYS: usize = 500;
    let scene = Scene::new();
    let pod = || {
        let settings = scene.settings().deadline(1_500 * MS);
        scene.pod_on(settings, |builder| builder.lease(9_000 * MS))
    };
    let (here, there) = (pod().await, pod().await);
    let longer_than_the_lease = |pod: &Pod, number: usize| {
        let pod = pod.clone();
        async move { slow(&pod, number % KEYS).await }
    };
    let leaders = callers(KEYS, |number| longer_than_the_lease(&here, number));
    eventually("all bodies run", || scene.ledger.runs() == KEYS).await;
    let waiters = callers(10 * KEYS, |number| longer_than_the_lease(&there, number));
    let led = answers(leaders).await;
    let followed = answers(waiters).await;
    for (number, answer) in followed.iter().enumerate() {
        assert_eq!(*answer, led[number % KEYS]);
    }
    assert_eq!(scene.ledger.runs(), KEYS);
    assert_eq!(there.coalescer.counts().takeovers, 0);
    scene.assert_nothing_left(&[here, there]).await;
}

#[coalesce(key = number, skip(pod), coalescer = pod.coalescer)]
async fn slow(pod: &Pod, number: usize) -> u64 {
    pod.ledger.run(10_000 * MS).await
}

/// I-02, J-I01.
#[tokio::test]
async fn fifty_callers_of_a_cold_key_are_one_run_and_one_write() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let mut monitor = Monitor::start(&scene.server);
    let begun = Instant::now();
    let runs = answers(callers(50, |_| {
        let pod = pod.clone();
        async move { retained(&pod, 1).await }
    }));
    assert_eq!(runs.await, [1; 50]);
    assert!(begun.elapsed() >= 100 * MS);
    assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
    assert_eq!(scene.ledger.runs(), 1);
    assert_eq!(monitor.take().state_writes(), 1);
    let counts = pod.coalescer.counts();
    assert_eq!(
        (counts.led, counts.followed, counts.executions),
        (1, 49, 1),
        "{counts:?}"
    );
    scene.assert_nothing_left(&[pod]).await;
}

/// I-03, J-I03.
#[tokio::test]
async fn a_warm_key_is_served_without_a_run_and_at_once() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    retained(&pod, 1).await;
    let begun = Instant::now();
    let runs = answers(callers(50, |_| {
        let pod = pod.clone();
        async move { retained(&pod, 1).await }
    }));
    assert_eq!(runs.await, [1; 50]);
    // Far below the body's time; what a hit costs is the business of the benchmark.
    assert!(begun.elapsed() < 250 * MS, "{:?}", begun.elapsed());
    assert_eq!(scene.ledger.runs(), 1);
    for _ in 0..5 {
        retained(&pod, 1).await;
    }
    assert_eq!((scene.ledger.runs(), pod.coalescer.counts().fresh), (1, 55));
}

/// I-04, J-I02.
#[tokio::test]
async fn each_key_is_one_run_and_they_run_side_by_side() {
    for (keys, each) in [(5, 10), (10, 5)] {
        let scene = Scene::new();
        let pod = scene.pod().await;
        let begun = Instant::now();
        let got = answers(callers(keys * each, |number| {
            let (pod, key) = (pod.clone(), number % keys);
            async move { (key, in_flight(&pod, key as u64).await) }
        }))
        .await;
        assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
        assert_eq!((got.len(), scene.ledger.runs()), (50, keys));
        for key in 0..keys {
            let mut runs: Vec<_> = got.iter().filter(|(of, _)| *of == key).collect();
            runs.dedup();
            assert_eq!(runs.len(), 1, "callers of one key got {runs:?}");
        }
        let mut distinct: Vec<_> = got.iter().map(|(_, run)| run).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys, "two keys shared a run");
        scene.assert_nothing_left(&[pod]).await;
    }
}

/// I-07: there, the wrong order of two decorators costs 50 writes. Here one attribute owns both.
#[tokio::test]
async fn a_flight_writes_its_state_once_however_many_wait_for_it_and_wherever() {
    let scene = Scene::new();
    let pods = scene.pods(2).await;
    let mut monitor = Monitor::start(&scene.server);
    for (key, writes) in [(1, 1), (2, 1), (2, 1)] {
        answers(callers(50, |number| {
            let pod = pods[number % 2].clone();
            async move { in_flight(&pod, key).await }
        }))
        .await;
        assert_eq!(monitor.take().state_writes(), writes, "key {key}");
    }
    assert_eq!(scene.ledger.runs(), 3);
}

/// J-I04, I-01: the baseline that the other figures are held against.
#[tokio::test]
async fn past_the_attribute_every_call_runs_and_asks_redis_nothing() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let mut monitor = Monitor::start(&scene.server);
    let runs = answers(callers(10, |_| {
        let pod = pod.clone();
        async move { uncoalesced_entry(&pod, 1).bypass().await }
    }));
    assert_eq!(runs.await.len(), 10);
    assert_eq!((scene.ledger.runs(), scene.ledger.most_at_once()), (10, 10));
    assert_eq!(monitor.take().all_sent(), 0);
    assert_eq!(pod.coalescer.counts().followed, 0);
    assert_eq!(uncoalesced(&pod, 1).await, 11);
}

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer)]
async fn gated(pod: &Pod, id: u64, gate: &Gate) -> Vec<u64> {
    vec![pod.ledger.run_until(gate.passed()).await]
}

///
#[tokio::test]
async fn what_one_caller_does_to_its_answer_no_other_caller_sees() {
    let scene = Scene::new();
    let (pod, gate) = (scene.pod().await, Gate::closed());
    let waiting = callers(10, |number| {
        let (pod, gate) = (pod.clone(), gate.clone());
        async move {
            let mut answer = gated(&pod, 1, &gate).await;
            answer.push(number as u64);
            answer
        }
    });
    eventually("the body runs", || scene.ledger.runs() == 1).await;
    gate.open();
    for (number, answer) in answers(waiting).await.into_iter().enumerate() {
        assert_eq!(answer, [1, number as u64]);
    }
    assert_eq!(scene.ledger.runs(), 1);
}

///
#[tokio::test]
async fn a_thousand_keys_leave_no_local_entry_and_no_key_without_an_expiry() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    for retain in [false, true] {
        answers(callers(1_000, |number| {
            let (pod, id) = (pod.clone(), number as u64);
            async move {
                if retain {
                    retained(&pod, id).await
                } else {
                    in_flight(&pod, id).await
                }
            }
        }))
        .await;
    }
    assert_eq!(scene.ledger.runs(), 2_000);
    scene.assert_nothing_left(&[pod]).await;
}
