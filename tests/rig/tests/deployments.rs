//! Rolling deployments over real processes: pods whose types differ share a Redis, and neither breaks the other.

use coalesce_rig::{Burst, Fails, Fleet, Pod, Site, eventually};

const POD: &str = env!("CARGO_BIN_EXE_pod");

/// One pod of each of these deployments, in this order.
fn scene(deployments: &[&str]) -> Fleet {
    let mut scene = Fleet::start(POD, 0);
    for deployment in deployments {
        scene.pod(&[("RIG_DEPLOYMENT", deployment)]);
    }
    scene
}

fn burst(key: &str, callers: usize) -> Burst {
    Burst {
        keys: vec![key.to_owned()],
        ..Burst::of(Site::Deployed, callers)
    }
}

/// All callers of a pod get a value of their key; the run that made it.
fn run_for(pod: &mut Pod, burst: &Burst) -> String {
    pod.begin(burst);
    runs_of(pod, &burst.keys[0]).swap_remove(0)
}

/// The runs behind the answers that a pod owes.
fn runs_of(pod: &mut Pod, key: &str) -> Vec<String> {
    let answers = pod.answers();
    let runs = answers.into_iter().map(|answer| {
        assert_eq!(answer.of_key.as_deref(), Some(key), "{answer:?}");
        answer.run.expect("a value")
    });
    let mut runs: Vec<_> = runs.collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

fn undecodable(scene: &mut Fleet) -> Vec<u64> {
    let pods = scene.pods.iter_mut();
    pods.map(|pod| pod.state().undecodable).collect()
}

#[test]
fn a_compatible_change_is_shared_in_both_directions() {
    let mut scene = scene(&["first", "compatible"]);
    for (key, leader, follower) in [("a", 0, 1), ("b", 1, 0)] {
        let before = scene.runs();
        let made = run_for(&mut scene.pods[leader], &burst(key, 13));
        assert_eq!(run_for(&mut scene.pods[follower], &burst(key, 13)), made);
        assert_eq!(scene.runs(), before + 1, "{key}");
    }
    assert_eq!(undecodable(&mut scene), [0, 0]);
    scene.assert_nothing_left();
}

#[test]
fn an_incompatible_change_is_a_counted_miss_in_both_directions() {
    let mut scene = scene(&["first", "renamed"]);
    let mut runs = 0;
    for round in 0..3 {
        for pod in [0, 1] {
            let made = run_for(&mut scene.pods[pod], &burst("a", 1));
            runs += 1;
            assert_eq!(scene.runs(), runs, "pod {pod} in round {round}");
            // What it has written is there for those that can read it.
            assert_eq!(run_for(&mut scene.pods[pod], &burst("a", 13)), made);
            assert_eq!(scene.runs(), runs, "pod {pod} in round {round}");
        }
    }
    // The first call of all found nothing; each other first call of a round found the other's value.
    assert_eq!(undecodable(&mut scene), [2, 3]);
    // Callers that come together share the run, and each of them may have seen what it cannot read.
    let others = run_for(&mut scene.pods[0], &burst("a", 13));
    assert_ne!(run_for(&mut scene.pods[1], &burst("a", 13)), others);
    assert_eq!(scene.runs(), runs + 2);
    let seen = undecodable(&mut scene);
    assert!(
        (3..=15).contains(&seen[0]) && (4..=16).contains(&seen[1]),
        "{seen:?}"
    );
    scene.assert_nothing_left();
}

#[test]
fn what_one_deployment_cannot_read_stays_for_the_other_until_there_is_a_new_value() {
    for fails in [Fails::Never, Fails::Always] {
        let mut scene = scene(&["first", "renamed"]);
        let made = run_for(&mut scene.pods[0], &burst("a", 1));
        scene.pods[1].begin(&Burst {
            body_ms: 3_000,
            fails,
            ..burst("a", 1)
        });
        eventually("the other deployment's body runs", || scene.runs() == 2);
        assert_eq!(run_for(&mut scene.pods[0], &burst("a", 13)), made);
        assert_eq!(scene.runs(), 2);
        let answers = scene.pods[1].answers();
        assert_eq!(answers[0].error.is_some(), matches!(fails, Fails::Always));
        scene.assert_nothing_left();
    }
}

#[test]
fn who_waits_for_a_flight_of_another_deployment_is_answered_by_one_of_its_own() {
    for (leader, follower) in [(0, 1), (1, 0)] {
        let mut scene = scene(&["first", "renamed"]);
        let slow = Burst {
            body_ms: 800,
            ..burst("a", 13)
        };
        scene.pods[leader].begin(&slow);
        eventually("a flight is in progress", || scene.runs() == 1);
        scene.pods[follower].begin(&slow);
        let theirs = runs_of(&mut scene.pods[leader], "a");
        let own = runs_of(&mut scene.pods[follower], "a");
        assert_eq!((theirs.len(), own.len(), scene.runs()), (1, 1, 2));
        assert_ne!(theirs, own);
        assert!(undecodable(&mut scene)[follower] > 0);
        scene.assert_nothing_left();
    }
}

#[test]
fn a_new_version_has_entries_of_its_own_while_both_deployments_run() {
    let mut scene = scene(&["first", "first", "new version"]);
    let mut made = Vec::new();
    for _ in 0..2 {
        for pod in 0..3 {
            made.push(run_for(&mut scene.pods[pod], &burst("a", 13)));
        }
        // The deployment rolls on: an old pod goes, a new one comes.
        scene.pods.remove(0).shut_down();
        scene.pod(&[("RIG_DEPLOYMENT", "new version")]);
    }
    let (old, new) = (made[0].clone(), made[2].clone());
    assert_eq!(made, [&old, &old, &new, &old, &new, &new].map(Clone::clone));
    assert_eq!((scene.runs(), undecodable(&mut scene)), (2, vec![0; 3]));
    scene.assert_nothing_left();
}
