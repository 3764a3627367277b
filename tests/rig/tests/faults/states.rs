//! What is in Redis goes away, or is not what it should be.

use coalesce_rig::{Burst, RedisServer, Site, Value, now_micros};

use crate::scene::{BESIDE_BODIES, MS, Scene, eventually, load, meanwhile};

/// Row 21.
#[test]
fn scripts_forgotten_again_and_again_are_sent_again() {
    let mut scene = Scene::new(4);
    scene.begin(&load(4_200 * MS));
    let mut connection = scene.server.connection();
    for _ in 0..80 {
        connection.command(&["SCRIPT", "FLUSH"]).expect("an answer");
        meanwhile(50 * MS);
    }
    scene.faults(80);
    drop(connection);
    scene.collect();
    scene.shares_a_run(Site::InFlight);
    scene.ends_well(BESIDE_BODIES);
}

/// Row 24. A lock that was evicted is a reason for a second run, and for nothing else.
#[test]
fn eviction_takes_locks_and_values_and_nobody_waits_for_them() {
    let mut scene = Scene::on(RedisServer::start_with(&["--maxmemory", "3mb"]), 4);
    let fill = "for i = 1, 500 do redis.call('SET', 'fill:' .. math.random(1, 1e9), string.rep('x', 1000), 'EX', 300) end";
    for policy in [
        "allkeys-lru",
        "volatile-lru",
        "allkeys-lfu",
        "allkeys-random",
        "volatile-random",
        "volatile-ttl",
    ] {
        let set = ["CONFIG", "SET", "maxmemory-policy", policy];
        scene.server.command(&set);
        scene.trouble();
        scene.begin(&load(1_000 * MS));
        for _ in 0..10 {
            let before = evicted(&scene);
            scene.server.command(&["EVAL", fill, "0"]);
            let evicts = evicted(&scene) > before;
            scene.faults(evicts.into());
            meanwhile(80 * MS);
        }
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// How many keys the server has evicted so far.
fn evicted(scene: &Scene) -> u64 {
    let evicted = scene.server.info("stats", "evicted_keys");
    evicted.expect("a count").parse().expect("a number")
}

/// Row 25.
#[test]
fn locks_and_values_that_vanish_during_a_run_leave_nobody_waiting() {
    let mut scene = Scene::new(4);
    for round in 0..48 {
        let (key, began) = (scene.new_key(), now_micros());
        scene.trouble();
        scene.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 200,
            ..Burst::of([Site::Fresh, Site::InFlight][round % 2], 3)
        });
        eventually("the body runs", || scene.runs_of(&key) >= 1);
        meanwhile(50 * MS);
        match round % 3 {
            0 => drop(scene.server.command(&["FLUSHALL"])),
            1 => delete(&scene, &format!("*:lock:*{key}*")),
            _ => delete(&scene, &format!("*:state:*{key}*")),
        }
        scene.faults(1);
        scene.collect();
        let runs = scene.runs_of(&key);
        // Whoever finds the lock gone leads: one more, and not one for each process. On a machine that is too busy the
        // first may end behind that one, and those of its callers who came behind its grant begin again.
        let most = if scene.was_busy_since(began) { 4 } else { 2 };
        assert!((1..=most).contains(&runs), "{runs} runs in round {round}");
    }
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

fn delete(scene: &Scene, pattern: &str) {
    for key in scene.server.command(&["KEYS", pattern]).list() {
        scene.server.command(&["DEL", &key.text()]);
    }
}

/// The one name in Redis that fits.
fn name(scene: &Scene, pattern: &str) -> String {
    let names = scene.server.command(&["KEYS", pattern]).list();
    assert_eq!(names.len(), 1, "{names:?}");
    names[0].text()
}

/// All pods ask for this key of the site that keeps values.
fn ask(scene: &mut Scene, key: &str) -> usize {
    let before = scene.runs_of(key);
    scene.burst(&Burst {
        keys: vec![key.to_owned()],
        body_ms: 20,
        ..Burst::of(Site::Fresh, 3)
    });
    scene.runs_of(key) - before
}

/// Row 26.
#[test]
fn a_foreign_type_at_a_name_of_ours_costs_that_key_its_sharing_and_nothing_else() {
    let mut scene = Scene::new(4);
    ask(&mut scene, "a");
    let state = name(&scene, "*:state:*:a}");
    let lock = state.replace(":state:", ":lock:");
    scene.trouble();
    for round in 0..40 {
        let foreign = [&state, &lock][round % 2];
        scene.server.command(&["DEL", &state]);
        scene.server.command(&["LPUSH", foreign, "x"]);
        scene.faults(1);
        let runs = ask(&mut scene, "a");
        assert!((1..=4).contains(&runs), "{runs} runs of that key");
        scene.shares_a_run(Site::Fresh);
        scene.server.command(&["DEL", foreign]);
        scene.server.command(&["DEL", &state]);
        assert_eq!(ask(&mut scene, "a"), 1, "when it has gone");
    }
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 27.
#[test]
fn bytes_that_are_no_value_of_ours_are_a_miss_that_the_next_run_replaces() {
    let mut scene = Scene::new(4);
    scene.retains = true;
    for key in ["a", "b"] {
        assert_eq!(ask(&mut scene, key), 1);
    }
    let [state, other] = ["a", "b"].map(|key| name(&scene, &format!("*:state:*:{key}}}")));
    let mut connection = scene.server.connection();
    let mut bytes = |name: &str| {
        let value = connection.command(&["GET", name]).expect("a value");
        match value {
            Value::Text(bytes) => bytes,
            value => panic!("{value:?}"),
        }
    };
    let (own, foreign) = (bytes(&state), bytes(&other));
    let changed = |at: usize, byte: u8| {
        let mut bytes = own.clone();
        bytes[at] = byte;
        bytes
    };
    let mut plants = vec![
        Vec::new(),
        b"{\"json\": true}".to_vec(),
        vec![0xff; 100_000],
        foreign,
        // A version to come, a status to come, a codec to come.
        changed(0, b'X'),
        changed(2, 0xfe),
        changed(3, b'?'),
        changed(4, 0xfe),
        changed(5, 0xfe),
        changed(30, 0),
    ];
    plants.extend((1..100).map(|part| own[..own.len() * part / 100].to_vec()));
    scene.trouble();
    for (number, plant) in plants.iter().enumerate() {
        let words: [&[u8]; 5] = [b"SET", state.as_bytes(), plant, b"PX", b"60000"];
        let planted = connection.command_bytes(&words);
        planted.expect("a plant");
        scene.faults(1);
        // The token is no secret: a state with another one is as good as ours.
        let expected = usize::from(number != 9);
        assert_eq!(ask(&mut scene, "a"), expected, "plant {number}");
        assert_eq!(ask(&mut scene, "a"), 0, "plant {number} was not replaced");
    }
    drop(connection);
    let unread: u64 = scene
        .pods
        .iter_mut()
        .map(|pod| pod.state().undecodable)
        .sum();
    assert!(unread >= 108, "{unread} were counted");
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}
