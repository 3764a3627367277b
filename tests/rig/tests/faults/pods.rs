//! What happens to the pods themselves: they come and go, are slow, are switched, make what is too much.

use std::time::{Duration, Instant};

use coalesce_rig::{Affliction, Burst, Pod, Site, Value, now_micros};

use crate::scene::{BESIDE_BODIES, LEASE, LINGER, MS, POD, Scene, eventually, load, meanwhile};

/// Rows 4 and 44: the last that is left takes over whatever all others were at.
#[test]
fn a_fleet_that_grows_and_shrinks_under_load_doubles_nothing_but_what_died() {
    let mut scene = Scene::new(1);
    let end = now_micros() + 8_000_000;
    let rest = |lasts: Duration| Burst {
        body_ms: 50,
        ..load(lasts)
    };
    scene.begin(&rest(8_000 * MS));
    for _ in 1..12 {
        scene.add_pod();
        let left = Duration::from_micros(end.saturating_sub(now_micros()));
        scene.begin_last(&rest(left));
    }
    meanwhile(1_000 * MS);
    while scene.pods.len() > 1 {
        let mut pod = scene.pods.remove(scene.pods.len() / 2);
        scene.kill(&mut pod);
        meanwhile(200 * MS);
    }
    scene.collect();
    scene.shares_a_run(Site::InFlight);
    // A leader that was killed is missed when its lease ends: the one that led, and perhaps the one that took over.
    scene.ends_well(2 * LEASE + BESIDE_BODIES);
}

/// Row 42: a process with one worker, which something else has for half of the time, in pieces.
#[test]
fn a_pod_that_hardly_runs_is_slow_by_itself_and_doubles_nothing() {
    let mut scene = Scene::new(3);
    let environment = [LINGER, ("TOKIO_WORKER_THREADS", "1")];
    let slow = Pod::start(POD, &scene.server.url(), &scene.ledger, &environment);
    scene.join(slow);
    scene.begin(&load(4_500 * MS));
    for _ in 0..40 {
        scene.pods[3].suffer(Affliction::Hog { lasts_ms: 50 });
        meanwhile(100 * MS);
    }
    scene.faults(40);
    scene.collect();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 45.
#[test]
fn a_value_of_any_size_is_returned_and_one_above_the_limit_is_each_processes_own() {
    let mut scene = Scene::new(4);
    // The limit is a mebibyte, and there are some bytes around a value.
    let sizes = [(0, 1), ((1 << 20) - 1_000, 1), (1 << 20, 4), (8 << 20, 4)];
    scene.trouble();
    for (filler, expected) in sizes {
        let mut exact = 0;
        for _ in 0..5 {
            let (key, began) = (scene.new_key(), now_micros());
            scene.burst(&Burst {
                keys: vec![key.clone()],
                filler,
                body_ms: if expected == 1 { 300 } else { 100 },
                ..Burst::of(Site::InFlight, 3)
            });
            let runs = scene.runs_of(&key);
            exact += u32::from(runs == expected);
            // Who comes when the body is over makes a run of its own.
            let busy = runs > expected && scene.was_busy_since(began);
            assert!(runs == expected || busy, "{runs} runs of {filler} bytes");
            scene.faults(1);
        }
        assert!(
            exact >= 2,
            "{exact} bursts of {filler} bytes met no busy machine"
        );
    }
    let states = scene.server.command(&["KEYS", "*:state:*"]).list();
    for state in states {
        let length = scene.server.command(&["STRLEN", &state.text()]).number();
        assert!(length <= (1 << 20) + 100, "{length} bytes are stored");
    }
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 48.
#[test]
fn a_kill_switch_that_flips_all_the_time_leaves_nobody_waiting() {
    let mut scene = Scene::new(4);
    scene.begin(&load(6_000 * MS));
    let off = now_micros();
    let (mut flips, began) = (0, Instant::now());
    // A pod whose load has ended says its answers first.
    while flips < 35 && began.elapsed() < 4_000 * MS {
        // By another pod each time. It says "switched" long before it has its answers.
        let pod = &mut scene.pods[flips % 4];
        eventually("the switch is turned", || pod.turns(flips % 2 == 1));
        flips += 1;
        meanwhile(100 * MS);
    }
    assert!(flips >= 10, "only {flips} flips");
    scene.faults(flips as u64);
    scene.collect();
    for pod in &mut scene.pods {
        let bypassed = pod.state().bypassed;
        assert!(bypassed > 100, "{bypassed} calls went past");
    }
    scene.server.command(&["DEL", "rig:switch"]);
    scene.switched.push(off..=now_micros());
    scene.trouble();
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 49.
#[test]
fn a_kill_switch_that_cannot_be_read_stays_where_it_was() {
    let mut scene = Scene::new(4);
    // Each is one command: a moment without a switch would be a switch that is on.
    let plants: [&[&[u8]]; 4] = [
        &[
            b"EVAL",
            b"redis.call('DEL', KEYS[1]) redis.call('LPUSH', KEYS[1], 'off')",
            b"1",
            b"rig:switch",
        ],
        &[b"HSET", b"rig:switch", b"~all", b"garbage"],
        &[b"HSET", b"rig:switch", b"~all", b"\xff"],
        &[b"SET", b"rig:switch", b"off"],
    ];
    for off in [false, true] {
        for plant in plants {
            turn_by_hand(&mut scene, off);
            let mut connection = scene.server.connection();
            let answer = connection.command_bytes(plant).expect("an answer");
            assert!(!matches!(answer, Value::Error(_)), "{answer:?}");
            scene.faults(1);
            // Every process reads it each second.
            meanwhile(1_200 * MS);
            stays(&mut scene, off);
        }
        // Nobody may read it, whatever it says now.
        turn_by_hand(&mut scene, off);
        let allow =
            |scene: &Scene, rule| scene.server.command(&["ACL", "SETUSER", "default", rule]);
        allow(&scene, "-hgetall");
        let before = scene.refusals("NOPERM");
        let other = if off { "co1 on" } else { "co1 off" };
        scene.server.command(&["HSET", "rig:switch", "~all", other]);
        scene.faults(1);
        eventually("every process has asked in vain", || {
            scene.refusals("NOPERM") >= before + 4
        });
        stays(&mut scene, off);
        scene.server.command(&["DEL", "rig:switch"]);
        allow(&scene, "+hgetall");
    }
    turn_by_hand(&mut scene, false);
    stays(&mut scene, false);
    scene.ends_well(BESIDE_BODIES);
}

/// As somebody does who writes it himself: what stood there is gone, and nobody is told.
fn turn_by_hand(scene: &mut Scene, off: bool) {
    // Both at once: a moment without a switch would be one that is on.
    let script = "redis.call('DEL', KEYS[1]) if ARGV[1] == '1' then redis.call('HSET', KEYS[1], '~all', 'co1 off') end";
    let arg = if off { "1" } else { "0" };
    scene
        .server
        .command(&["EVAL", script, "1", "rig:switch", arg]);
    eventually("every process knows", || {
        scene
            .pods
            .iter_mut()
            .all(|pod| pod.state().switched_off == off)
    });
}

fn stays(scene: &mut Scene, off: bool) {
    let mut pods = scene.pods.iter_mut();
    assert!(
        pods.all(|pod| pod.state().switched_off == off),
        "off: {off}"
    );
    if !off {
        scene.shares_a_run(Site::InFlight);
    }
}

/// Row 51: within the grace, a shutdown waits for what is going on.
#[test]
fn a_pod_that_is_told_to_end_answers_its_callers_first_and_leaves_no_lease() {
    let mut scene = Scene::new(3);
    let key = scene.new_key();
    scene.begin(&Burst {
        keys: vec![key.clone()],
        body_ms: 800,
        ..Burst::of(Site::InFlight, 5)
    });
    eventually("the body runs", || scene.runs_of(&key) == 1);
    for pod in &mut scene.pods {
        pod.begin_shut_down(Duration::from_secs(5));
    }
    for mut pod in std::mem::take(&mut scene.pods) {
        let (answers, _) = pod.answers_and_bye();
        assert_eq!(answers.len(), 5);
        scene.answers.extend(answers);
    }
    scene.faults(3);
    assert_eq!(scene.runs_of(&key), 1);
    scene.ends_well(BESIDE_BODIES);
}

/// Row 51: behind the grace, the key is handed over at once and not when the lease ends.
#[test]
fn a_pod_that_ends_before_its_flight_hands_the_key_over() {
    for _ in 0..3 {
        let mut scene = Scene::new(3);
        let key = scene.new_key();
        scene.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 1_000,
            ..Burst::of(Site::InFlight, 5)
        });
        eventually("the body runs", || scene.runs_of(&key) == 1);
        let run = scene.ledger.runs()[0].name.clone();
        let leads = |pid: u32| run.starts_with(&format!("{pid}."));
        let leader = scene.pods.iter().position(|pod| leads(pod.pid()));
        let mut leader = scene.pods.remove(leader.expect("a pod that leads"));
        let told = Instant::now();
        // From now on its run is nobody's but its own caller's.
        scene.killed.push((leader.pid(), now_micros()));
        leader.begin_shut_down(100 * MS);
        scene.faults(1);
        eventually("another leads", || scene.runs_of(&key) == 2);
        let waited = told.elapsed();
        assert!(waited < 100 * MS + 5 * 250 * MS, "{waited:?}");
        drop(leader);
        scene.collect();
        assert_eq!(scene.runs_of(&key), 2);
        scene.ends_well(BESIDE_BODIES);
    }
}
