//! Notifications are refused, lost, cut off or late: polls find what they would have told.

use std::time::Instant;

use coalesce_rig::{Ledger, Mode, RedisServer, Site, now_micros};

use crate::scene::{BESIDE_BODIES, MS, Scene, eventually, fleet, load, meanwhile};

fn listened(scene: &Scene) -> usize {
    let asked = ["PUBSUB", "CHANNELS", "*:notify:{*"];
    scene.server.command(&asked).list().len()
}

/// How many connections hear of anything.
fn subscribers(scene: &Scene) -> usize {
    let subscribers = ["CLIENT", "LIST", "TYPE", "pubsub"];
    scene.server.command(&subscribers).text().lines().count()
}

/// A load begins, and whether all pods hear of its keys before it ends.
fn all_listen(scene: &mut Scene) -> bool {
    scene.begin(&load(500 * MS));
    let end = Instant::now() + 350 * MS;
    while listened(scene) != 3 || subscribers(scene) != 4 {
        if Instant::now() > end {
            return false;
        }
    }
    true
}

/// Twenty new keys, each with one run in the fleet.
fn assert_shared(scene: &mut Scene) {
    for _ in 0..20 {
        scene.shares_a_run(Site::InFlight);
    }
}

/// Row 13.
#[test]
fn a_refused_subscription_costs_polls_and_mixes_nothing() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let user = ["ACL", "SETUSER", "deaf", "on", ">pw"];
    let rule = ["~*", "resetchannels", "+@all"];
    server.command(&[&user[..], &rule].concat());
    let url = server.url().replace("redis://", "redis://deaf:pw@");
    let pods = fleet(4, &url, &ledger);
    let mut scene = Scene::of(server, None, ledger, pods);
    scene.faults(1);
    assert_shared(&mut scene);
    scene.burst(&load(1_000 * MS));
    assert_eq!(listened(&scene), 0);
    for pod in &mut scene.pods {
        let state = pod.state();
        assert!(!state.subscribed);
        // On a busy machine a question may have had no answer since.
        let why = &*state.last_fault;
        assert!(["denied", "timeout"].contains(&why), "{why}");
    }
    scene
        .server
        .command(&["ACL", "SETUSER", "deaf", "allchannels"]);
    eventually("they listen again", || {
        scene.shares_a_run(Site::InFlight);
        listened(&scene) > 0
    });
    scene.ends_well(BESIDE_BODIES);
}

/// Row 17. No run is doubled by it: only a wait is longer.
#[test]
fn subscriptions_cut_again_and_again_cost_polls_and_no_second_run() {
    let mut scene = Scene::new(4);
    scene.begin(&load(5_200 * MS));
    for _ in 0..25 {
        let killed = scene.server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        scene.faults((killed.number() > 0).into());
        meanwhile(200 * MS);
    }
    scene.collect();
    scene.shares_a_run(Site::InFlight);
    assert!(listened(&scene) > 0, "nobody listens any more");
    let clients = scene.server.command(&["CLIENT", "LIST"]).text();
    // Three of each pod, and the one that asks.
    assert_eq!(clients.lines().count(), 4 * 3 + 1, "{clients}");
    scene.ends_well(BESIDE_BODIES);
}

/// Row 18.
#[test]
fn followers_of_a_fleet_that_hears_nothing_are_a_poll_late_at_most() {
    let mut scene = Scene::behind_proxy(4);
    for round in 0..20 {
        scene.proxy().set(Mode::SwallowMessages);
        // Shorter ones can be over before a pod's first question has come to Redis.
        scene.shares_a_run_of(Site::InFlight, 50 + 10 * round);
    }
    // In all rounds but those where the other pods came late there was somebody to tell of its end.
    let lost = scene.proxy().faults();
    assert!(lost >= 18, "messages were lost in {lost} rounds");
    scene.ends_well(BESIDE_BODIES);
}

/// Row 19.
#[test]
fn a_server_that_refuses_to_publish_stores_all_the_same() {
    let mut scene = Scene::new(4);
    let allow = |scene: &Scene, rule| scene.server.command(&["ACL", "SETUSER", "default", rule]);
    for _ in 0..20 {
        allow(&scene, "-publish");
        scene.faults(1);
        scene.shares_a_run(Site::InFlight);
        scene.shares_a_run(Site::Fresh);
        allow(&scene, "+publish");
        scene.shares_a_run(Site::InFlight);
    }
    // It was a script that was refused this, which no statistics tell.
    let refused = scene.server.command(&["ACL", "LOG"]);
    assert!(!refused.list().is_empty(), "nothing was refused");
    scene.retains = true;
    scene.ends_well(BESIDE_BODIES);
}

/// Row 20: the server gives up subscribers that do not take what it has for them.
#[test]
fn subscribers_that_are_too_slow_for_the_server_are_back_before_long() {
    let server = RedisServer::start_with(&["--client-output-buffer-limit", "pubsub 256kb 128kb 1"]);
    let (ledger, proxy) = (
        Ledger::default(),
        coalesce_rig::Proxy::before(server.port()),
    );
    let pods = fleet(4, &proxy.url(), &ledger);
    let mut scene = Scene::of(server, Some(proxy), ledger, pods);
    scene.trouble();
    let channels = ["PUBSUB", "CHANNELS", "*:notify:{*"];
    let flood = "x".repeat(1 << 20);
    for _ in 0..20 {
        while !all_listen(&mut scene) {
            scene.collect();
        }
        let channel = scene.server.command(&channels).list()[0].text();
        // What the proxy does not take fills the server's buffers.
        scene.proxy().set(Mode::Stall);
        for _ in 0..8 {
            scene.server.command(&["PUBLISH", &channel, &flood]);
        }
        // Nobody who is behind the proxy can have closed a connection meanwhile.
        eventually("the server has given them up", || subscribers(&scene) < 4);
        scene.proxy().set(Mode::Pass);
        scene.collect();
    }
    scene.recovers();
    let before = now_micros();
    scene.shares_a_run(Site::InFlight);
    let took = now_micros() - before;
    assert!(took < 50_000 + 5 * 250_000, "{took} µs");
    scene.ends_well(BESIDE_BODIES);
}
