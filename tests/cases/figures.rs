//! What a call costs: the commands that it waits for, counted at the server.

use std::collections::BTreeMap;

use coalesce::coalesce;
use coalesce_rig::Monitor;

use crate::scene::{Gate, MS, Pod, Scene, answers, callers, eventually};

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s")]
async fn retained(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(10 * MS).await
}

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer)]
async fn in_flight(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    pod.ledger.run_until(gate.passed()).await
}

/// A pod whose server knows the scripts already, and that polls for nothing while a test counts.
async fn quiet_pod(scene: &Scene) -> Pod {
    let never = 20_000 * MS;
    let pod = scene
        .pod_with(|builder| builder.polls(never, never).lease(never))
        .await;
    retained(&pod, 0).await;
    pod
}

/// What connections do for themselves, once in a while, whatever the calls.
fn without_housekeeping(mut stats: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    stats.retain(|name, _| !["ping", "time", "hgetall"].contains(&name.as_str()));
    stats
}

/// F-01.
#[tokio::test]
async fn a_fresh_hit_is_one_get_and_nothing_else() {
    let scene = Scene::new();
    let pod = quiet_pod(&scene).await;
    retained(&pod, 1).await;
    for hits in 1..=3 {
        scene.server.reset_stats();
        for _ in 0..hits {
            retained(&pod, 1).await;
        }
        let asked = without_housekeeping(scene.server.command_stats());
        assert_eq!(asked, BTreeMap::from([("getrange".to_owned(), hits)]));
    }
}

/// F-01, D1, D2.
#[tokio::test]
async fn a_hundred_hits_at_once_are_far_fewer_than_a_hundred_gets() {
    let scene = Scene::new();
    let pod = quiet_pod(&scene).await;
    retained(&pod, 1).await;
    scene.server.reset_stats();
    answers(callers(100, |_| {
        let pod = pod.clone();
        async move { retained(&pod, 1).await }
    }))
    .await;
    let asked = without_housekeeping(scene.server.command_stats());
    assert!(
        asked.len() == 1 && (1..=10).contains(&asked["getrange"]),
        "{asked:?}"
    );
}

/// F-02, D1.
#[tokio::test]
async fn a_cold_call_waits_for_three_commands_whether_one_asks_or_a_hundred() {
    let scene = Scene::new();
    let pod = quiet_pod(&scene).await;
    let mut monitor = Monitor::start(&scene.server);
    for (key, count) in [(1, 1), (2, 100)] {
        answers(callers(count, |_| {
            let pod = pod.clone();
            async move { retained(&pod, key).await }
        }))
        .await;
        let asked = monitor.take();
        let figures = (
            asked.sent("GETRANGE"),
            asked.sent("EVALSHA"),
            asked.all_sent(),
            asked.state_writes(),
        );
        assert_eq!(figures, (1, 2, 3, 1), "{count} callers: {asked:?}");
    }
}

/// F-03.
#[tokio::test]
async fn a_cold_call_that_retains_nothing_waits_for_two_commands() {
    let scene = Scene::new();
    let (pod, gate) = (quiet_pod(&scene).await, Gate::closed());
    gate.open();
    let mut monitor = Monitor::start(&scene.server);
    for _ in 0..3 {
        in_flight(&pod, 1, &gate).await;
        let asked = monitor.take();
        assert_eq!(
            (asked.sent("EVALSHA"), asked.all_sent()),
            (2, 2),
            "{asked:?}"
        );
    }
}

/// One flight led by `leader` and followed by `callers` in `follower`; all get its outcome.
async fn follow(scene: &Scene, leader: &Pod, follower: &Pod, count: usize, heard: usize) {
    let gate = Gate::closed();
    let run = scene.ledger.runs() + 1;
    let call = |pod: &Pod| {
        let (pod, gate) = (pod.clone(), gate.clone());
        async move { in_flight(&pod, 1, &gate).await }
    };
    let leading = tokio::spawn(call(leader));
    eventually("the body runs", || scene.ledger.runs() == run).await;
    let mut monitor = Monitor::start(&scene.server);
    let following = callers(count, |_| call(follower));
    let mut asked = 0;
    eventually("the follower has asked all it asks", || {
        asked += monitor.take().all_sent();
        asked == heard
    })
    .await;
    gate.open();
    assert_eq!(leading.await.unwrap(), run as u64);
    assert_eq!(answers(following).await, vec![run as u64; count]);
    let end = monitor.take();
    // FINISH, and nothing by those who waited: the message carried the outcome.
    assert_eq!((end.sent("EVALSHA"), end.all_sent()), (1, 1), "{end:?}");
}

/// F-04, D1.
#[tokio::test]
async fn followers_of_one_process_ask_once_listen_once_and_look_once() {
    let scene = Scene::new();
    let (leader, follower) = (quiet_pod(&scene).await, quiet_pod(&scene).await);
    // BEGIN, SUBSCRIBE, GET.
    follow(&scene, &leader, &follower, 50, 3).await;
    assert_eq!(follower.coalescer.subscriptions(), 1);
    // The subscription lingers: what is left is BEGIN.
    follow(&scene, &leader, &follower, 50, 1).await;
}

/// F-05, P11.
#[tokio::test]
async fn after_the_linger_nothing_is_left_of_a_thousand_waits() {
    let scene = Scene::new();
    let (mut pods, gate) = (Vec::new(), Gate::closed());
    for _ in 0..2 {
        let settings = scene.settings().linger(100 * MS);
        pods.push(scene.pod_on(settings, |builder| builder).await);
    }
    let waiting = callers(1_000, |number| {
        let (pod, gate) = (pods[number % 2].clone(), gate.clone());
        async move { in_flight(&pod, number as u64 / 20, &gate).await }
    });
    eventually("every key is led and followed", || {
        scene.ledger.runs() == 50 && scene.channels() == 50
    })
    .await;
    gate.open();
    answers(waiting).await;
    assert_eq!(scene.ledger.runs(), 50);
    eventually("every subscription is gone", || {
        let subscriptions = pods.iter().map(|pod| pod.coalescer.subscriptions());
        subscriptions.sum::<usize>() == 0 && scene.channels() == 0
    })
    .await;
    scene.assert_nothing_left(&pods).await;
}
