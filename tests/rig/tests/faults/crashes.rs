//! Leaders that die, stop or take too long, in real processes.

use std::time::Duration;

use coalesce_rig::{Answer, Burst, Pod, Site, eventually};

use crate::scene::{BESIDE_BODIES, LEASE, Scene};

/// Begins `burst` on every pod and waits for the first run to start; the place of the leading pod.
fn begin(scene: &mut Scene, burst: &Burst) -> usize {
    scene.begin(burst);
    eventually("a body starts", || !scene.ledger.runs().is_empty());
    let name = scene.ledger.runs()[0].name.clone();
    let leads = |pod: &Pod| name.starts_with(&format!("{}.", pod.pid()));
    scene.pods.iter().position(leads).expect("the leading pod")
}

/// Whether all of these have the value of that run.
fn are_of(scene: &Scene, run: usize, answers: &[Answer]) -> bool {
    let name = &scene.ledger.runs()[run].name;
    answers
        .iter()
        .all(|answer| answer.run.as_ref() == Some(name))
}

/// Row 2.
#[test]
fn a_killed_leader_is_replaced_by_a_follower_that_was_waiting() {
    let mut scene = Scene::new(4);
    let leader = begin(
        &mut scene,
        &Burst {
            body_ms: 400,
            ..Burst::of(Site::Fresh, 10)
        },
    );
    scene.retains = true;
    let mut dead = scene.pods.remove(leader);
    let killed = scene.kill(&mut dead);
    let answers = scene.collect().to_vec();
    let runs = scene.ledger.runs();
    assert_eq!((answers.len(), runs.len()), (30, 2));
    assert!(are_of(&scene, 1, &answers), "{answers:?}");
    let took = runs[1].started - killed;
    assert!(took <= 4_000_000, "a lease and a second: {took} µs");
    let takeovers: u64 = scene.pods.iter_mut().map(|pod| pod.state().takeovers).sum();
    assert_eq!(takeovers, 1);
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 3.
#[test]
fn a_leader_stopped_past_its_lease_is_replaced_and_its_late_outcome_refused() {
    let mut scene = Scene::new(3);
    let leader = begin(
        &mut scene,
        &Burst {
            body_ms: 300,
            ..Burst::of(Site::Fresh, 5)
        },
    );
    scene.retains = true;
    scene.pods[leader].signal("STOP");
    scene.faults(1);
    let mut answers = Vec::new();
    for (place, pod) in scene.pods.iter_mut().enumerate() {
        if place != leader {
            answers.extend(pod.answers());
        }
    }
    assert_eq!(scene.ledger.runs().len(), 2);
    assert!(are_of(&scene, 1, &answers), "{answers:?}");
    scene.pods[leader].signal("CONT");
    let late = scene.pods[leader].answers();
    let first = &scene.ledger.runs()[0].name;
    let own = late
        .iter()
        .filter(|answer| answer.run.as_ref() == Some(first));
    assert!(
        own.count() >= 1,
        "its own caller gets its own value: {late:?}"
    );
    // The late FINISH was refused: everybody is served the second value.
    scene.pods[leader].begin(&Burst::of(Site::Fresh, 5));
    let newcomers = scene.pods[leader].answers();
    assert!(are_of(&scene, 1, &newcomers), "{newcomers:?}");
    assert_eq!(scene.ledger.runs().len(), 2);
    scene.answers = [answers, late, newcomers].concat();
    scene.ends_well(LEASE + BESIDE_BODIES);
}

#[test]
fn a_leader_slower_than_its_lease_is_not_doubled() {
    let mut scene = Scene::new(3);
    let slow = Burst {
        body_ms: 7_000,
        ..Burst::of(Site::InFlight, 5)
    };
    assert_eq!(scene.burst(&slow).len(), 15);
    assert_eq!(scene.ledger.runs().len(), 1);
    scene.ends_well(BESIDE_BODIES);
}

/// Row 7. Pending is 2 s, the wait 5 s: two more leaders may start before the last follower gives up.
#[test]
fn a_body_that_outlives_pending_is_taken_over_once_at_a_time() {
    let mut scene = Scene::new(3);
    let endless = Burst {
        body_ms: 20_000,
        ..Burst::of(Site::Short, 5)
    };
    let answers = scene.burst(&endless).to_vec();
    let runs = scene.ledger.runs().len();
    let gave_up: Vec<_> = answers
        .iter()
        .filter(|answer| matches!(&answer.error, Some(text) if text.contains("wait timeout")))
        .map(|answer| (answer.answered - answer.arrived) / 1_000)
        .collect();
    let in_time = |waited: &u64| (5_000..=7_000).contains(waited);
    assert!(gave_up.iter().all(in_time), "{gave_up:?}");
    assert_eq!(gave_up.len() + runs, 15, "everybody else ran the body");
    assert!((2..=3).contains(&runs), "{runs} runs");
    // Those who gave up were told so, which this test has looked at; the rest is held against the ledger.
    scene.answers.retain(|answer| answer.error.is_none());
    // A body that outlives its lock is doubled, and how often has been said.
    scene.pending = Duration::from_secs(2);
    scene.ends_well(BESIDE_BODIES);
}

#[test]
fn a_pod_that_shuts_down_leaves_no_lease_behind() {
    let mut scene = Scene::new(2);
    let burst = Burst {
        body_ms: 200,
        ..Burst::of(Site::InFlight, 5)
    };
    assert_eq!(scene.burst(&burst).len(), 10);
    let last = scene.pods.pop();
    for pod in scene.pods.drain(..).chain(last) {
        pod.shut_down();
    }
    let left = scene.server.command(&["KEYS", "*:lock:*"]).list();
    assert_eq!(left, []);
    assert_eq!(scene.server.channels(), 0);
}
