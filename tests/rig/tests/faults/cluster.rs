//! A cluster's primaries move, die, hang, and lose what they had not copied.

use std::time::Instant;

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

/// New keys of `Site::Fresh`, so many on the primary in this place and so many on others.
fn new_keys(scene: &mut Scene<Cluster>, count: usize, place: usize) -> [Vec<String>; 2] {
    let known = scene.new_key();
    scene.burst(&Burst {
        keys: vec![known.clone()],
        ..Burst::of(Site::Fresh, 1)
    });
    let name = scene
        .server
        .keys(&format!("*:state:*{known}}}"))
        .swap_remove(0);
    let [mut there, mut elsewhere] = [Vec::new(), Vec::new()];
    while there.len() < count || elsewhere.len() < count {
        let key = scene.new_key();
        if scene.server.primary_of(&name.replace(&known, &key)) == place {
            there.push(key);
        } else {
            elsewhere.push(key);
        }
    }
    [there, elsewhere]
}

/// A body that takes a moment.
const BODY_MS: u64 = 50;

/// How many runs it takes when all pods call this key for the first time.
fn runs_of(scene: &mut Scene<Cluster>, key: &str, body_ms: u64) -> usize {
    scene.burst(&Burst {
        keys: vec![key.to_owned()],
        body_ms,
        ..Burst::of(Site::Fresh, 3)
    });
    scene.runs_of(key)
}

/// All pods share a run of each of these keys, as if nothing had happened. A machine that is too busy for
/// a deadline is an excuse, for a few of them.
fn are_shared(scene: &mut Scene<Cluster>, keys: impl IntoIterator<Item = String>) {
    let (mut shared, mut excused) = (0, 0);
    for key in keys {
        let unanswered = scene.unanswered();
        let runs = runs_of(scene, &key, BODY_MS);
        match (runs, scene.unanswered() == unanswered) {
            (1, _) => shared += 1,
            (runs, true) => panic!("{runs} runs of {key}"),
            _ => excused += 1,
        }
    }
    println!("{shared} keys were shared, {excused} met a busy machine");
    assert!(excused <= shared / 4, "{excused} beside {shared}");
}

/// How many runs it takes when nobody serves the slot of this key. Every process has all its callers before
/// the first body ends, however busy the machine is.
fn runs_of_lost(scene: &mut Scene<Cluster>, key: &str) -> usize {
    runs_of(scene, key, 10 * BODY_MS)
}

fn set_full_coverage(scene: &Scene<Cluster>, value: &str) {
    for server in scene.server.servers() {
        let name = "cluster-require-full-coverage";
        server.command(&["CONFIG", "SET", name, value]);
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
        let primary = scene.server.primary_of("x");
        let replica = scene.server.replica_of(primary);
        let keys = new_keys(&mut scene, 3, primary).concat();
        scene.begin(&load(6_000 * MS));
        scene.trouble();
        goes_away(&mut scene, primary, dies);
        eventually("the replica leads", || scene.server.leads(replica));
        scene.collect();
        // The old primary is as it was: nobody asks it any more.
        are_shared(&mut scene, keys);
        comes_back(&mut scene, primary, dies);
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 35, for the keys of the other primaries, which the cluster serves all the time when it is told to:
/// not one more run. And those of the primary are shared again soon after its replica leads.
#[test]
fn a_primary_that_dies_or_hangs_costs_the_keys_of_the_others_nothing() {
    let mut scene = scene(4);
    set_full_coverage(&scene, "no");
    for dies in [true, false] {
        let primary = scene.server.primary_of("x");
        let replica = scene.server.replica_of(primary);
        let [lost, others] = new_keys(&mut scene, 120, primary);
        let (mut lost, mut others) = (lost.into_iter(), others.into_iter());
        scene.trouble();
        goes_away(&mut scene, primary, dies);
        while !scene.server.leads(replica) {
            let runs = runs_of_lost(&mut scene, &lost.next().expect("a key"));
            assert!((1..=4).contains(&runs), "{runs}");
            are_shared(&mut scene, others.by_ref().take(8));
        }
        let leads = Instant::now();
        let mut is_shared = || runs_of(&mut scene, &lost.next().expect("a key"), BODY_MS) == 1;
        while !is_shared() {
            // Of the second until its keys are shared, a busy machine may make a few.
            assert!(leads.elapsed() < 5_000 * MS, "{:?}", leads.elapsed());
        }
        println!("shared again {:?} after the replica led", leads.elapsed());
        are_shared(&mut scene, lost.take(8).chain(others.take(8)));
        comes_back(&mut scene, primary, dies);
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

fn goes_away(scene: &mut Scene<Cluster>, place: usize, dies: bool) {
    if dies {
        scene.server.node_mut(place).kill();
    } else {
        scene.server.node(place).freeze();
    }
    scene.faults(1);
}

fn comes_back(scene: &mut Scene<Cluster>, place: usize, dies: bool) {
    if dies {
        scene.server.node_mut(place).restart();
    } else {
        scene.server.node(place).go_on();
    }
    scene.server.is_complete();
    scene.recovers();
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

/// Row 37: a primary and its replica die, with and without `cluster-require-full-coverage`. With it the
/// cluster serves no slot at all; without it all others.
#[test]
fn slots_that_nobody_serves_leave_calls_to_their_bodies_once_in_each_process() {
    let mut scene = scene(4);
    for full_coverage in ["no", "yes"] {
        set_full_coverage(&scene, full_coverage);
        let primary = scene.server.primary_of("x");
        let replica = scene.server.replica_of(primary);
        let [lost, others] = new_keys(&mut scene, 20, primary);
        scene.begin(&load(3_000 * MS));
        scene.trouble();
        for place in [replica, primary] {
            scene.server.node_mut(place).kill();
            scene.faults(1);
        }
        scene.collect();
        for key in lost.iter().take(5) {
            let runs = runs_of_lost(&mut scene, key);
            assert_eq!(runs, 4, "one in each process");
        }
        if full_coverage == "no" {
            are_shared(&mut scene, others);
        } else {
            eventually("no slot is served", || {
                let mut primaries = (0..6).filter(|place| scene.server.leads(*place));
                primaries.all(|place| {
                    let info = scene.server.node(place).command(&["CLUSTER", "INFO"]);
                    info.text().contains("cluster_state:fail")
                })
            });
            let runs = runs_of_lost(&mut scene, &others[0]);
            assert_eq!(runs, 4, "one in each process");
        }
        for place in [primary, replica] {
            scene.server.node_mut(place).restart();
        }
        scene.server.is_complete();
        scene.recovers();
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// How many locks of a key this node has, whoever it belongs to.
fn locks(scene: &Scene<Cluster>, place: usize, key: &str) -> usize {
    let pattern = format!("*:lock:*{key}}}");
    let node = scene.server.node(place);
    node.command(&["KEYS", &pattern]).list().len()
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
        let [mut keys, _] = new_keys(&mut scene, 1, before);
        let key = keys.swap_remove(0);
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
        assert_eq!(locks(&scene, before, &key), 1, "one leads");
        scene.server.node_mut(before).kill();
        scene.server.node(replica).go_on();
        // It takes seconds to lead, and nobody can have written to it.
        assert_eq!(locks(&scene, replica, &key), 0, "the lock was copied");
        scene.faults(1);
        eventually("the replica leads", || scene.server.leads(replica));
        scene.collect();
        // Who waited while nobody served the slot ran for itself, and the checker says whether any
        // process did so twice at once.
        let runs = scene.runs_of(&key);
        println!("{runs} runs when the lock was lost");
        assert!(runs >= 2, "nobody ran beside the first");
        scene.server.node_mut(before).restart();
        scene.server.is_complete();
        scene.recovers();
        let late = Burst {
            keys: vec![key.clone()],
            rounds: 20,
            ..Burst::of(Site::Fresh, 3)
        };
        let answers = scene.burst(&late);
        let mut values: Vec<_> = answers.iter().map(|answer| answer.run.clone()).collect();
        values.dedup();
        assert_eq!((answers.len(), values.len()), (240, 1), "{values:?}");
        // What was made while nobody served the slot may not have been stored.
        let more = scene.runs_of(&key) - runs;
        assert!(more <= 1, "{more}");
    }
    scene.ends_well(LEASE + BESIDE_BODIES);
}
