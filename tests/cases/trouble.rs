//! Lost connections, lost messages, and the time a message takes.

use coalesce::{BreakerState, Error, coalesce};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::scene::{Gate, MS, Pod, Scene, answers, callers, eventually};

#[coalesce(key = id, skip(pod, gate), coalescer = pod.coalescer)]
async fn in_flight(pod: &Pod, id: u64, gate: &Gate) -> u64 {
    pod.ledger.run_until(gate.passed()).await
}

#[coalesce(key = id, skip(pod), coalescer = pod.coalescer, on_redis_error = "fail")]
async fn rather_fails(pod: &Pod, id: u64) -> Result<u64, Told> {
    Ok(pod.ledger.run(MS).await)
}

/// What a caller is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Told {
    Unavailable,
    Else(String),
}

impl From<Error> for Told {
    fn from(error: Error) -> Self {
        match error {
            Error::Unavailable { .. } => Self::Unavailable,
            other => Self::Else(other.to_string()),
        }
    }
}

fn breaker(pod: &Pod) -> BreakerState {
    pod.coalescer.health().breaker
}

/// S13, P13: the typed error within two deadlines, at once while the breaker is open, and no body.
#[tokio::test]
async fn a_call_that_would_rather_fail_is_told_so_in_time_and_runs_nothing() {
    let scene = Scene::new();
    let deadline = 200 * MS;
    let settings = scene.settings().deadline(deadline);
    let pod = scene.pod_on(settings, |builder| builder).await;
    assert_eq!(rather_fails(&pod, 0).await, Ok(1));
    for round in 1..=3 {
        scene.server.freeze();
        for id in 0..5 {
            let begun = Instant::now();
            let told = rather_fails(&pod, 10 * round + id).await;
            assert_eq!(told, Err(Told::Unavailable));
            // The slack of a busy machine.
            assert!(begun.elapsed() < 5 * 2 * deadline, "{:?}", begun.elapsed());
        }
        assert_ne!(breaker(&pod), BreakerState::Closed);
        scene.server.go_on();
        let before = scene.ledger.runs();
        eventually("it can be asked again", || {
            breaker(&pod) == BreakerState::Closed
        })
        .await;
        assert_eq!(scene.ledger.runs(), before);
        assert!(rather_fails(&pod, 10 * round).await.is_ok());
    }
    assert_eq!(scene.ledger.runs(), 4);
}

/// D9, W27.
#[tokio::test]
async fn connections_killed_during_a_flight_start_no_second_run() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(2).await, Gate::closed());
    let call = |number: usize| {
        let (pod, gate) = (pods[number % 2].clone(), gate.clone());
        async move { in_flight(&pod, 1, &gate).await }
    };
    let clients = || {
        let list = scene.server.command(&["CLIENT", "LIST"]).text();
        list.lines().count()
    };
    let connected = clients();
    let mut waiting = callers(10, call);
    eventually("the other pod listens", || scene.channels() == 1).await;
    for _ in 0..3 {
        let kill = |kind| {
            let killed = scene.server.command(&["CLIENT", "KILL", "TYPE", kind]);
            killed.number()
        };
        assert!(kill("normal") + kill("pubsub") >= 2 * 2);
        waiting.extend(callers(10, call));
        eventually("everybody is back", || {
            clients() == connected && scene.channels() == 1
        })
        .await;
    }
    assert_eq!(scene.ledger.runs(), 1);
    gate.open();
    assert_eq!(answers(waiting).await, [1; 40]);
    assert_eq!(scene.ledger.runs(), 1);
    scene.assert_nothing_left(&pods).await;
}

/// J-I11, P9.
#[tokio::test]
async fn followers_get_their_outcome_when_every_message_is_lost() {
    let scene = Scene::new();
    let (pods, gate) = (scene.pods(4).await, Gate::closed());
    let refused = scene
        .server
        .command(&["ACL", "SETUSER", "default", "resetchannels"]);
    assert_eq!(refused.text(), "OK");
    let waiting = callers(8, |number| {
        let (pod, gate) = (pods[number % 4].clone(), gate.clone());
        async move { in_flight(&pod, 1, &gate).await }
    });
    eventually("the other three have been refused a channel", || {
        let counts = pods.iter().map(|pod| pod.coalescer.counts());
        counts.filter(|counts| counts.faults > 0).count() == 3
    })
    .await;
    gate.open();
    let opened = Instant::now();
    assert_eq!(answers(waiting).await, [1; 8]);
    // A poll comes once a second at the latest.
    assert!(opened.elapsed() < 3_000 * MS, "{:?}", opened.elapsed());
    assert_eq!((scene.ledger.runs(), scene.channels()), (1, 0));
    scene.assert_nothing_left(&pods).await;
}

/// D11: a socket that gathers small packets adds 40 ms to every message.
#[tokio::test]
async fn an_outcome_reaches_followers_without_a_step_of_forty_milliseconds() {
    let scene = Scene::new();
    let never = 20_000 * MS;
    let mut pods = Vec::new();
    for _ in 0..2 {
        let pod = scene.pod_with(|builder| builder.polls(never, never).lease(never));
        pods.push(pod.await);
    }
    let mut delays = Vec::new();
    for run in 1..=200 {
        let gate = Gate::closed();
        let call = |pod: &Pod| {
            let (pod, gate) = (pod.clone(), gate.clone());
            tokio::spawn(async move { (in_flight(&pod, 1, &gate).await, Instant::now()) })
        };
        let leading = call(&pods[0]);
        eventually("the body runs", || scene.ledger.runs() == run).await;
        let asked = scene.server.command_stats()["evalsha"];
        let following = call(&pods[1]);
        eventually("the other pod waits", || {
            scene.channels() == 1 && scene.server.command_stats()["evalsha"] > asked
        })
        .await;
        gate.open();
        leading.await.unwrap();
        let (number, answered) = following.await.unwrap();
        assert_eq!(number, run as u64);
        delays.push(answered - scene.ledger.ended(number));
    }
    delays.sort();
    let median = delays[delays.len() / 2];
    assert!(median < 20 * MS, "half of them took more than {median:?}");
}

/// F-06, W23: the answer to BEGIN comes too late for its caller, which runs the body alone.
#[tokio::test]
async fn a_lock_taken_for_a_caller_that_had_given_up_makes_nobody_wait_for_its_lease() {
    let scene = Scene::new();
    let settings = || scene.settings().deadline(250 * MS);
    let cut_off = scene.pod_on(settings(), |builder| builder).await;
    let other = scene.pod_on(settings(), |builder| builder).await;
    let gate = Gate::closed();
    gate.open();
    for pod in [&cut_off, &other] {
        in_flight(pod, 0, &gate).await;
    }
    scene.server.freeze();
    assert_eq!(in_flight(&cut_off, 1, &gate).await, 3);
    scene.server.go_on();
    let begun = Instant::now();
    assert_eq!(in_flight(&other, 1, &gate).await, 4);
    assert!(begun.elapsed() < 1_000 * MS, "{:?}", begun.elapsed());
}
