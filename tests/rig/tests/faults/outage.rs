//! Redis dies, hangs, pauses, or was never there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use coalesce_rig::{Burst, Ledger, RedisServer, Site, note_spread};

use crate::scene::{BESIDE_BODIES, MS, Scene, eventually, fleet, load, meanwhile};

/// Row 8.
#[test]
fn a_redis_that_is_killed_and_comes_back_empty_delays_nobody_and_is_shared_again() {
    let mut scene = Scene::new(4);
    for (down, times) in [(1_000 * MS, 2), (100 * MS, 20)] {
        scene.begin(&load(times * (down + 100 * MS)));
        scene.trouble();
        for _ in 0..times {
            scene.server.kill();
            meanwhile(down);
            scene.server.restart();
            meanwhile(50 * MS);
        }
        scene.faults(times.into());
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 9.
#[test]
fn a_redis_that_never_comes_back_leaves_every_call_to_its_body_at_once() {
    let mut scene = Scene::new(3);
    scene.trouble();
    scene.server.kill();
    scene.faults(1);
    // Some calls until everybody has noticed.
    scene.burst(&load(500 * MS));
    let key = scene.new_key();
    let calls = Burst {
        keys: vec![key.clone()],
        rounds: 200,
        body_ms: 0,
        ..Burst::of(Site::InFlight, 1)
    };
    assert_eq!(scene.burst(&calls).len(), 600);
    assert_eq!(scene.runs_of(&key), 600);
    for pod in &mut scene.pods {
        assert_ne!(pod.state().breaker, "closed");
    }
    // One pod alone, and the quietest of some rounds: what a call costs by itself is in each of them.
    let rounds = (0..5).map(|_| added(&mut scene)).collect::<Vec<_>>();
    let share = |parts: usize| move |round: &Vec<u64>| round[round.len() * parts / 100];
    println!(
        "added to half of the calls {:?} µs, and to all but one in a hundred {:?} µs",
        rounds.iter().map(share(50)).collect::<Vec<_>>(),
        rounds.iter().map(share(99)).collect::<Vec<_>>(),
    );
    let quietest = rounds.iter().map(share(99)).min();
    assert!(quietest < Some(5 * 1_000), "{quietest:?} µs");
    note_spread("added_open", rounds.concat());
    // So that what is left can be counted: who tries to connect has now more tasks, now fewer.
    scene.server.restart();
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// What calls of a pod take beside their bodies, in microseconds and in order.
fn added(scene: &mut Scene) -> Vec<u64> {
    let key = scene.new_key();
    scene.pods[0].begin(&Burst {
        keys: vec![key.clone()],
        rounds: 400,
        body_ms: 0,
        ..Burst::of(Site::InFlight, 1)
    });
    let answers = scene.pods[0].answers();
    let runs = scene.ledger.runs().into_iter();
    let bodies: HashMap<_, _> = runs
        .filter_map(|run| Some((run.name, run.ended? - run.started)))
        .collect();
    let added = answers.iter().map(|answer| {
        let run = answer.run.as_ref().expect("a run of its own");
        (answer.answered - answer.arrived).saturating_sub(bodies[run])
    });
    let mut added: Vec<_> = added.collect();
    added.sort_unstable();
    scene.answers.extend(answers);
    added
}

/// Row 10.
#[test]
fn a_redis_that_is_absent_at_the_start_is_joined_when_it_appears() {
    let (mut server, ledger) = (RedisServer::start(), Ledger::default());
    server.kill();
    let started = Instant::now();
    let pods = fleet(4, &server.url(), &ledger);
    let took = started.elapsed();
    assert!(took < 4 * Duration::from_secs(3), "{took:?}");
    let mut scene = Scene::of(server, None, ledger, pods);
    scene.trouble();
    scene.faults(1);
    assert_eq!(
        scene.runs_of_a_burst(Site::InFlight),
        4,
        "one in each process"
    );
    scene.begin(&load(1_500 * MS));
    scene.server.restart();
    scene.collect();
    scene.recovers();
    scene.add_pod();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 11.
#[test]
fn a_redis_that_is_stopped_for_a_while_delays_nobody_and_mixes_nothing() {
    let mut scene = Scene::new(4);
    for (stopped, times) in [(200 * MS, 20), (1_000 * MS, 2), (5_000 * MS, 1)] {
        scene.begin(&load(times * (stopped + 100 * MS)));
        scene.trouble();
        for _ in 0..times {
            scene.server.freeze();
            meanwhile(stopped);
            scene.server.go_on();
            meanwhile(50 * MS);
        }
        scene.faults(times.into());
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 12.
#[test]
fn a_redis_that_sleeps_or_pauses_delays_nobody() {
    let mut scene = Scene::new(4);
    let commands: [(&[&str], u32); 4] = [
        (&["DEBUG", "SLEEP", "2"], 1),
        (&["CLIENT", "PAUSE", "1500", "ALL"], 1),
        (&["CLIENT", "PAUSE", "1500", "WRITE"], 1),
        (&["CLIENT", "PAUSE", "150", "ALL"], 20),
    ];
    for (command, times) in commands {
        scene.begin(&load((2_000 * MS).max(times * 250 * MS)));
        scene.trouble();
        let mut connection = scene.server.connection();
        for _ in 0..times {
            connection.command(command).expect("an answer, some day");
            scene.faults(1);
            meanwhile(if times > 1 { 200 * MS } else { MS });
        }
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 12.
#[test]
fn stored_values_are_served_while_writing_is_paused() {
    let mut scene = Scene::new(4);
    scene.retains = true;
    let hits = Burst {
        rounds: 50,
        body_ms: 50,
        ..Burst::of(Site::Fresh, 3)
    };
    scene.burst(&hits);
    assert_eq!(scene.ledger.runs().len(), 1);
    scene.server.command(&["CLIENT", "PAUSE", "10000", "WRITE"]);
    scene.faults(1);
    for answer in scene.burst(&hits) {
        let took = answer.answered - answer.arrived;
        assert!(took < 5 * 50_000, "{took} µs");
    }
    assert_eq!(scene.ledger.runs().len(), 1, "nobody ran the body");
    scene.server.command(&["CLIENT", "UNPAUSE"]);
    scene.trouble();
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 22.
#[test]
fn an_endless_script_of_somebody_delays_nobody() {
    let mut scene = Scene::new(4);
    scene
        .server
        .command(&["CONFIG", "SET", "busy-reply-threshold", "100"]);
    for _ in 0..3 {
        scene.begin(&load(1_500 * MS));
        scene.trouble();
        let mut busy = scene.server.connection();
        let hog = std::thread::spawn(move || {
            let script = ["EVAL", "while true do end", "0"];
            busy.command(&script).expect("an answer, when it is killed")
        });
        meanwhile(1_000 * MS);
        let mut killer = scene.server.connection();
        eventually("it is killed", || {
            killer.command(&["SCRIPT", "KILL"]).is_ok() && hog.is_finished()
        });
        assert!(scene.refusals("BUSY") > 0, "nobody met it");
        scene.faults(1);
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}
