//! Redis answers, but refuses: no memory, no writing, no entry.

use coalesce_rig::{Burst, Ledger, Pod, RedisServer, Site};

use crate::scene::{BESIDE_BODIES, MS, Scene, eventually, load, logged_pod, meanwhile};

/// Redis refuses what it is asked with an `error`, from `begin` to `end`; meanwhile every process runs for itself, at
/// most.
fn refuse(scene: &mut Scene, error: &str, begin: &[&str], end: &[&str]) {
    let before = scene.refusals(error);
    scene.begin(&load(400 * MS));
    scene.trouble();
    let mut connection = scene.server.connection();
    let refused = connection.command(begin).expect("an answer");
    assert!(!format!("{refused:?}").starts_with("Error"), "{refused:?}");
    scene.faults(1);
    scene.collect();
    for site in [Site::InFlight, Site::Fresh, Site::Fresh] {
        let runs = scene.runs_of_a_burst(site);
        assert!((1..=scene.pods.len()).contains(&runs), "{runs}: {begin:?}");
    }
    assert!(scene.refusals(error) > before, "nobody was told {error}");
    connection.command(end).expect("an answer");
    scene.recovers();
}

/// Rows 23, 28 and 29.
#[test]
fn a_redis_that_refuses_to_write_leaves_calls_to_their_bodies_once_in_each_process() {
    let mut scene = Scene::new(4);
    let off = |option| ["CONFIG", "SET", option, "0"];
    for _ in 0..5 {
        let memory = ["CONFIG", "SET", "maxmemory", "1"];
        refuse(&mut scene, "OOM", &memory, &off("maxmemory"));
        let replicas = ["CONFIG", "SET", "min-replicas-to-write", "1"];
        let off = off("min-replicas-to-write");
        refuse(&mut scene, "NOREPLICAS", &replicas, &off);
        // Of a primary that is not there: read-only.
        let nobody = ["REPLICAOF", "127.0.0.1", "1"];
        refuse(&mut scene, "READONLY", &nobody, &["REPLICAOF", "NO", "ONE"]);
        let stale = ["CONFIG", "SET", "replica-serve-stale-data", "no"];
        scene.server.command(&stale);
        refuse(
            &mut scene,
            "MASTERDOWN",
            &nobody,
            &["REPLICAOF", "NO", "ONE"],
        );
        scene
            .server
            .command(&["CONFIG", "SET", "replica-serve-stale-data", "yes"]);
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 23: there was room for the lock, and there is none for the outcome.
#[test]
fn an_outcome_that_is_not_stored_reaches_its_followers_all_the_same() {
    let mut scene = Scene::new(4);
    for _ in 0..20 {
        let key = scene.new_key();
        scene.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 300,
            ..Burst::of(Site::Fresh, 3)
        });
        eventually("the body runs", || scene.runs_of(&key) == 1);
        meanwhile(100 * MS);
        scene.server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        scene.faults(1);
        scene.collect();
        scene.server.command(&["CONFIG", "SET", "maxmemory", "0"]);
        assert_eq!(scene.runs_of(&key), 1);
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 29.
#[test]
fn a_redis_that_cannot_save_is_as_good_as_one_that_is_not_there() {
    // Nothing can be created in that folder, not even by root.
    let server = RedisServer::start_with(&["--save", "3600 1000000", "--dir", "/proc"]);
    let mut scene = Scene::on(server, 4);
    let forgives = |yes| ["CONFIG", "SET", "stop-writes-on-bgsave-error", yes];
    scene.server.command(&forgives("no"));
    scene.server.command(&["BGSAVE"]);
    eventually("saving has failed", || {
        let report = scene.server.command(&["INFO", "persistence"]).text();
        report.contains("rdb_last_bgsave_status:err")
    });
    scene.shares_a_run(Site::InFlight);
    for _ in 0..3 {
        refuse(&mut scene, "MISCONF", &forgives("yes"), &forgives("no"));
        // New connections are possible while nothing can be written.
        scene.server.command(&forgives("yes"));
        scene.trouble();
        scene.server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        scene.burst(&load(500 * MS));
        scene.server.command(&forgives("no"));
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 29.
#[test]
fn a_redis_that_loads_its_data_delays_nobody() {
    let options = ["--loading-process-events-interval-bytes", "1024"];
    let mut scene = Scene::on(RedisServer::start_with(&options), 4);
    let fill = "for i = 1, 2000 do redis.call('SET', 'unrelated:' .. i, string.rep('x', 100), 'PX', 600000) end";
    scene.server.command(&["EVAL", fill, "0"]);
    for _ in 0..2 {
        scene.begin(&load(3_000 * MS));
        scene.trouble();
        let mut connection = scene.server.connection();
        connection
            .command(&["CONFIG", "SET", "key-load-delay", "700"])
            .expect("an answer");
        let before = scene.refusals("LOADING");
        connection.command(&["DEBUG", "RELOAD"]).expect("an answer");
        assert!(scene.refusals("LOADING") > before, "nobody met it");
        scene.faults(1);
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 29.
#[test]
fn a_redis_that_has_no_room_for_connections_delays_nobody() {
    let mut scene = Scene::new(4);
    let mut connection = scene.server.connection();
    for _ in 0..3 {
        scene.begin(&load(1_500 * MS));
        scene.trouble();
        let before = turned_away(&scene);
        for command in [
            &["CONFIG", "SET", "maxclients", "1"][..],
            &["CLIENT", "KILL", "TYPE", "normal"],
            &["CLIENT", "KILL", "TYPE", "pubsub"],
        ] {
            connection.command(command).expect("an answer");
        }
        scene.faults(1);
        meanwhile(1_000 * MS);
        connection
            .command(&["CONFIG", "SET", "maxclients", "1000"])
            .expect("an answer");
        assert!(turned_away(&scene) > before, "nobody was turned away");
        scene.collect();
        scene.recovers();
    }
    drop(connection);
    scene.ends_well(BESIDE_BODIES);
}

fn turned_away(scene: &Scene) -> u64 {
    let count = scene.server.info("stats", "rejected_connections");
    count.expect("a count").parse().expect("a number")
}

/// Row 29.
#[test]
fn connections_are_never_idle_enough_to_be_closed() {
    let mut scene = Scene::on(RedisServer::start_with(&["--timeout", "1"]), 4);
    meanwhile(3_500 * MS);
    scene.faults(1);
    for _ in 0..5 {
        scene.shares_a_run(Site::InFlight);
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 30.
#[test]
fn a_password_that_is_wrong_or_changed_delays_nobody_and_is_told_to_nobody() {
    const SECRET: &str = "planted-s3cret";
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let logs = tempfile::tempdir().expect("a folder for logs");
    let log = |number: usize| logs.path().join(format!("{number}.log"));
    let url = server
        .url()
        .replace("redis://", &format!("redis://app:{SECRET}@"));
    // The user is not there yet.
    let pods: Vec<_> = (0..4)
        .map(|number| logged_pod(&url, &ledger, &log(number)))
        .collect();
    let mut scene = Scene::of(server, None, ledger, pods);
    let pass = |password: &str| {
        let password = format!(">{password}");
        let words = ["ACL", "SETUSER", "app", "reset", "on", &password];
        let rule = ["~*", "&*", "+@all"];
        [&words[..], &rule]
            .concat()
            .iter()
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let ask = |scene: &Scene, words: &[String]| {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        scene.server.command(&words);
    };
    scene.trouble();
    assert_eq!(
        scene.runs_of_a_burst(Site::InFlight),
        4,
        "once in each process"
    );
    eventually("all of them know why", || {
        let mut states = scene.pods.iter_mut().map(Pod::state);
        states.all(|state| state.last_fault == "denied")
    });
    ask(&scene, &pass(SECRET));
    scene.recovers();
    scene.join(logged_pod(&url, &scene.ledger, &log(4)));
    for _ in 0..3 {
        scene.begin(&load(2_000 * MS));
        scene.trouble();
        ask(&scene, &pass("another"));
        scene.server.command(&["CLIENT", "KILL", "USER", "app"]);
        meanwhile(800 * MS);
        ask(&scene, &pass(SECRET));
        meanwhile(300 * MS);
        scene.server.command(&["ACL", "DELUSER", "app"]);
        meanwhile(300 * MS);
        ask(&scene, &pass(SECRET));
        scene.faults(2);
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
    for number in 0..5 {
        let text = std::fs::read_to_string(log(number)).expect("a log");
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("app:"), "{text}");
    }
}
