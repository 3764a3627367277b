//! A cluster's primaries move, die, hang, and lose what they had not copied.

use coalesce_rig::{Burst, Cluster, Site, Topology as _};

use crate::scene::{BESIDE_BODIES, LEASE, MS, Scene, eventually, load, meanwhile};

fn scene(pods: usize) -> Scene<Cluster> {
    Scene::on(Cluster::start(), pods)
}

/// A call of a new key whose body takes this long, begun in all pods; and the name of its lock.
fn begin_run(scene: &mut Scene<Cluster>, site: Site, body_ms: u64) -> (String, String) {
    let key = scene.new_key();
    scene.begin(&Burst {
        keys: vec![key.clone()],
        body_ms,
        ..Burst::of(site, 3)
    });
    eventually("the body runs", || scene.runs_of(&key) >= 1);
    let mut locks = Vec::new();
    eventually("there is a lock", || {
        locks = scene.server.keys(&format!("*:lock:*{key}}}"));
        !locks.is_empty()
    });
    (key, locks.swap_remove(0))
}

/// A new key of `Site::Fresh` that is on the primary in this place.
fn new_key_on(scene: &mut Scene<Cluster>, place: usize) -> String {
    let known = scene.new_key();
    scene.burst(&Burst {
        keys: vec![known.clone()],
        ..Burst::of(Site::Fresh, 1)
    });
    let name = scene
        .server
        .keys(&format!("*:state:*{known}}}"))
        .swap_remove(0);
    loop {
        let key = scene.new_key();
        if scene.server.primary_of(&name.replace(&known, &key)) == place {
            return key;
        }
    }
}

/// Row 34.
#[test]
fn a_primary_that_is_told_to_hand_over_costs_no_call_more_than_a_moment() {
    let mut scene = scene(4);
    let keys = ["x", "y", "z"];
    for round in 0..20 {
        scene.begin(&load(700 * MS));
        scene.trouble();
        let primary = scene.server.primary_of(keys[round % 3]);
        let replica = scene.server.replica_of(primary);
        scene.server.fail_over(replica);
        scene.faults(1);
        scene.collect();
        scene.recovers();
        scene.server.is_complete();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 35: the primary of a slot is gone from one moment to the next, or hangs; its replica takes over.
#[test]
fn a_primary_that_dies_or_hangs_leaves_calls_to_their_bodies_until_its_replica_leads() {
    let mut scene = scene(4);
    // A failover takes four seconds, and as long until the old primary follows.
    for dies in [true, false, true, false] {
        scene.begin(&load(6_000 * MS));
        let primary = scene.server.primary_of("x");
        let replica = scene.server.replica_of(primary);
        scene.trouble();
        if dies {
            scene.server.node_mut(primary).kill();
        } else {
            scene.server.node(primary).freeze();
        }
        scene.faults(1);
        eventually("the replica leads", || scene.server.leads(replica));
        scene.collect();
        // With a hanging node among the known ones, the client loses time on it again and again.
        let runs = scene.runs_of_a_burst(Site::InFlight);
        assert!((1..=4).contains(&runs), "{runs}");
        if dies {
            scene.server.node_mut(primary).restart();
        } else {
            scene.server.node(primary).go_on();
        }
        scene.server.is_complete();
        scene.recovers();
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 36.
#[test]
fn a_slot_that_moves_during_a_run_takes_lock_and_state_along() {
    let mut scene = scene(4);
    let mut doubled = 0;
    for round in 0..20 {
        let site = [Site::InFlight, Site::Fresh][round % 2];
        scene.trouble();
        let (key, lock) = begin_run(&mut scene, site, 500);
        let from = scene.server.primary_of(&lock);
        scene.server.move_slot(&lock, (from + 1) % 3);
        scene.faults(1);
        scene.collect();
        doubled += scene.runs_of(&key) - 1;
        scene.recovers();
    }
    println!("{doubled} runs beside a run while a slot moved");
    assert_eq!(doubled, 0);
    scene.ends_well(BESIDE_BODIES);
}

/// Row 37: a primary and its replica die, with and without `cluster-require-full-coverage`.
///
/// Without it the other slots would still be served. The client serves none of them while it tries to
/// reach a node that the cluster names, so there is nothing to gain by it.
#[test]
fn slots_that_nobody_serves_leave_calls_to_their_bodies_once_in_each_process() {
    let mut scene = scene(4);
    for full_coverage in ["no", "yes"] {
        let name = "cluster-require-full-coverage";
        for server in scene.server.servers() {
            server.command(&["CONFIG", "SET", name, full_coverage]);
        }
        let primary = scene.server.primary_of("x");
        let replica = scene.server.replica_of(primary);
        scene.begin(&load(3_000 * MS));
        scene.trouble();
        for place in [replica, primary] {
            scene.server.node_mut(place).kill();
            scene.faults(1);
        }
        scene.collect();
        for _ in 0..5 {
            let runs = scene.runs_of_a_burst(Site::InFlight);
            assert!((1..=4).contains(&runs), "{runs}");
        }
        for place in [primary, replica] {
            scene.server.node_mut(place).restart();
        }
        scene.server.is_complete();
        scene.recovers();
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 38: the lock was granted and never copied, and its primary dies. Another may lead then beside
/// the first; what is promised is that they end in one value.
#[test]
fn a_lock_that_was_lost_in_a_failover_costs_runs_and_leaves_one_value() {
    let mut scene = scene(4);
    scene.retains = true;
    for _ in 0..2 {
        scene.trouble();
        let before = scene.server.primary_of("x");
        let replica = scene.server.replica_of(before);
        let key = new_key_on(&mut scene, before);
        scene.server.node(replica).freeze();
        scene
            .server
            .node(before)
            .command(&["CLIENT", "KILL", "TYPE", "replica"]);
        scene.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 7_000,
            ..Burst::of(Site::Fresh, 3)
        });
        eventually("the body runs", || scene.runs_of(&key) >= 1);
        meanwhile(100 * MS);
        scene.server.node_mut(before).kill();
        scene.server.node(replica).go_on();
        scene.faults(1);
        eventually("the replica leads", || scene.server.leads(replica));
        scene.collect();
        // Who waited while nobody served the slot ran for itself, and the checker says whether any
        // process did so twice at once.
        println!("{} runs when the lock was lost", scene.runs_of(&key));
        scene.server.node_mut(before).restart();
        scene.server.is_complete();
        scene.recovers();
        let runs = scene.runs_of(&key);
        let late = scene.burst(&Burst {
            keys: vec![key.clone()],
            ..Burst::of(Site::Fresh, 3)
        });
        let mut values: Vec<_> = late.iter().map(|answer| answer.run.clone()).collect();
        values.dedup();
        assert_eq!(values.len(), 1, "{values:?}");
        // What was made while nobody served the slot may not have been stored.
        let more = scene.runs_of(&key) - runs;
        assert!(more <= 1, "{more}");
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}
