//! Sentinels move the primary, while the old one may still be there and writable, and die themselves.

use coalesce_rig::{Sentinels, Site, Topology as _, Value};

use crate::scene::{BESIDE_BODIES, LEASE, MS, Scene, eventually, load};

fn scene(options: &[&str]) -> Scene<Sentinels> {
    Scene::on(Sentinels::start_with(options), 4)
}

/// A primary that has been left alone by its replicas takes no more writes.
const SAFE: [&str; 4] = [
    "--min-replicas-to-write",
    "1",
    "--min-replicas-max-lag",
    "2",
];

/// Row 39. The old primary is writable until the sentinels have told it, and those who are connected
/// stay with it; they share their runs there as before.
#[test]
fn a_primary_that_sentinels_replace_while_it_lives_mixes_and_delays_nothing() {
    for options in [&[][..], &SAFE] {
        let mut scene = scene(options);
        for _ in 0..3 {
            scene.begin(&load(1_500 * MS));
            scene.trouble();
            scene.server.fail_over();
            scene.faults(1);
            scene.collect();
            // The next is possible when the old primary has been made a replica.
            scene.server.is_complete();
            scene.recovers();
        }
        scene.ends_well(LEASE + BESIDE_BODIES);
    }
}

/// Row 39: what stands between a primary that was left alone and a second leader.
#[test]
fn a_primary_that_its_replicas_have_left_elects_nobody() {
    let mut scene = scene(&SAFE);
    let primary = scene.server.primary().expect("a primary");
    scene.trouble();
    let replicas: Vec<_> = (0..3).filter(|place| *place != primary).collect();
    for replica in &replicas {
        scene.server.server(*replica).freeze();
    }
    scene.faults(2);
    eventually("it takes no writes", || {
        let said = scene
            .server
            .server(primary)
            .command(&["SET", "any", "1", "PX", "1"]);
        matches!(said, Value::Error(refusal) if refusal.starts_with("NOREPLICAS"))
    });
    let runs = scene.runs_of_a_burst(Site::InFlight);
    assert_eq!(runs, scene.pods.len(), "nobody leads the others");
    for replica in &replicas {
        scene.server.server(*replica).go_on();
    }
    scene.recovers();
    scene.server.is_complete();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 39.
#[test]
fn a_primary_that_dies_or_hangs_is_replaced_by_sentinels_and_left_by_everybody() {
    let mut scene = scene(&[]);
    for dies in [true, false] {
        let primary = scene.server.primary().expect("a primary");
        scene.begin(&load(5_000 * MS));
        scene.trouble();
        if dies {
            scene.server.kill(primary);
        } else {
            scene.server.server(primary).freeze();
        }
        scene.faults(1);
        scene.server.moved_from(primary);
        scene.collect();
        scene.recovers();
        scene.trouble();
        // It comes back and takes itself for the primary, until the sentinels have told it.
        if dies {
            scene.server.restart(primary);
        } else {
            scene.server.server(primary).go_on();
        }
        scene.burst(&load(1_000 * MS));
        scene.recovers();
        scene.server.is_complete();
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 40.
#[test]
fn sentinels_that_die_cost_nothing_and_a_majority_of_them_only_the_failover() {
    let mut scene = scene(&[]);
    scene.server.sentinel_mut(2).kill();
    scene.faults(1);
    assert_eq!(scene.runs_of_a_burst(Site::InFlight), 1);
    let primary = scene.server.primary().expect("a primary");
    scene.trouble();
    scene.server.kill(primary);
    let next = scene.server.moved_from(primary);
    scene.recovers();
    scene.server.sentinel_mut(1).kill();
    scene.faults(2);
    // Connected or new, pods go on.
    scene.add_pod();
    for _ in 0..5 {
        assert_eq!(scene.runs_of_a_burst(Site::InFlight), 1);
    }
    scene.begin(&load(4_000 * MS));
    scene.trouble();
    scene.server.kill(next);
    scene.faults(1);
    scene.collect();
    assert_eq!(scene.server.primary(), Some(next), "nobody may decide");
    scene.server.restart(next);
    eventually("the primary is there", || {
        !scene.server.primaries().is_empty()
    });
    scene.recovers();
    scene.ends_well(LEASE + BESIDE_BODIES);
}
