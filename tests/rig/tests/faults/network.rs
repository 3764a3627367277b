//! The way to Redis is slow, stalls, breaks, or loses what it carries.

use std::time::{Duration, Instant};

use coalesce_rig::{Burst, Cut, Mode, Proxy, Site, Way, holds, note_spread, now_micros};

use crate::scene::{BESIDE_BODIES, LEASE, MS, Scene, eventually, load, meanwhile};

/// A leader whose breaker is open says its last word behind that, and others follow it for as long.
const BREAKER_PAUSE: Duration = Duration::from_secs(1);

/// Row 31. A run is shared as long as a question and its answer fit into the deadline.
#[test]
fn a_slow_way_to_redis_costs_time_and_no_second_run() {
    let mut scene = Scene::behind_proxy(4);
    for way in [5, 50, 200] {
        let half = Mode::Delay {
            by: MS * way * 9 / 20,
            jitter: MS * way / 20,
        };
        let in_time = way <= 50;
        if !in_time {
            // On a busy machine some answers will be late.
            scene.trouble();
        }
        for _ in 0..7 {
            scene.proxy().set(half);
            let (began, unanswered) = (now_micros(), scene.unanswered());
            let runs = scene.runs_of_a_burst(Site::InFlight);
            let answered = scene.unanswered() == unanswered;
            assert!(
                (1..=if in_time && answered { 1 } else { 4 }).contains(&runs),
                "{runs}"
            );
            if !answered {
                scene.was_too_busy(began);
            }
            scene.proxy().set(Mode::Pass);
        }
        scene.proxy().set(half);
        scene.burst(&load(500 * MS));
        scene.proxy().set(Mode::Pass);
    }
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

fn is_begin(bytes: &[u8]) -> bool {
    holds(bytes, b"EVALSHA") && holds(bytes, b":lock:{") && !holds(bytes, b":notify:{")
}

fn is_finish(bytes: &[u8]) -> bool {
    holds(bytes, b"EVALSHA") && holds(bytes, b":notify:{")
}

fn is_read(bytes: &[u8]) -> bool {
    holds(bytes, b"GETRANGE\r\n") && holds(bytes, b":state:{")
}

/// Row 16.
#[test]
fn nobody_waits_out_a_lease_when_an_answer_is_lost() {
    let mut scene = Scene::behind_proxy(4);
    for (to, cuts) in [
        (is_begin as fn(&[u8]) -> bool, true),
        (is_begin, false),
        (is_finish, true),
        (is_finish, false),
        (is_read, true),
        (is_read, false),
    ] {
        for _ in 0..20 {
            scene.trouble();
            scene.proxy().lose_replies(1, to, cuts);
            let runs = scene.runs_of_a_burst(Site::Fresh);
            assert!((1..=4).contains(&runs), "{runs} runs");
            assert_eq!(scene.proxy().replies_to_spoil(), 0);
        }
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

fn is_script(bytes: &[u8]) -> bool {
    holds(bytes, b"EVALSHA")
}

/// A load, long enough to hurt something in it.
fn begin_load(scene: &mut Scene) {
    scene.begin(&load(400 * MS));
    meanwhile(MS * fastrand::u32(50..250));
}

/// A connection that this hurts during a load is replaced within two seconds, and five times that on a busy machine.
fn is_replaced(scene: &mut Scene, kind: &str, hurt: impl FnOnce(&Proxy)) {
    begin_load(scene);
    let (connections, since) = (scene.proxy().connections(), Instant::now());
    hurt(scene.proxy());
    let mut ends = since + 400 * MS;
    eventually("its connection is replaced", || {
        if Instant::now() > ends {
            // A load of a busy machine may have ended before anything was hurt.
            scene.collect();
            begin_load(scene);
            ends = Instant::now() + 400 * MS;
        }
        // On a busy machine one may have been replaced before.
        scene.proxy().replies_to_spoil() == 0 && scene.proxy().connections() > connections
    });
    let took = since.elapsed();
    println!("{kind}: a connection was replaced after {took:?}");
    assert!(took < 5 * 2_000 * MS, "{took:?}");
    scene.collect();
    let took = u64::try_from(took.as_millis()).expect("a short time");
    note_spread("reconnected", [took]);
}

/// Row 14: a reply that nobody has asked for, in front of one that somebody waits for. One that is none of ours gives its
/// connection away at once. An error may be the answer, and what gives it away is the next reply, if there is one: with
/// nobody left who waits, the client drops the true one, and nothing is shifted. If that was a grant, its lock ends with
/// its lease.
#[test]
fn stray_replies_are_nobodys_values_and_cost_a_connection() {
    let mut scene = Scene::behind_proxy(4);
    scene.trouble();
    let mut longest = Duration::ZERO;
    for round in 0..20 {
        let began = Instant::now();
        if round % 2 == 1 {
            begin_load(&mut scene);
            scene.proxy().send_stray(b"-ERR stray\r\n", is_script);
            scene.collect();
        } else {
            is_replaced(&mut scene, "stray", |proxy| {
                proxy.send_stray(b"+OK\r\n", is_script);
            });
        }
        eventually("runs are shared", || {
            scene.runs_of_a_burst(Site::InFlight) == 1
        });
        longest = longest.max(began.elapsed());
    }
    assert_eq!(scene.proxy().faults(), 20, "strays");
    let misrouted = scene.misrouted();
    println!(
        "{misrouted} replies were another request's; runs were shared again within {longest:?}"
    );
    assert!(misrouted >= 10, "{misrouted} replies were noticed");
    // Two seconds, of which the load takes some, and the machine is busy.
    assert!(longest < 5 * 2_000 * MS, "{longest:?}");
    scene.recovers();
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 15. The client matches replies to requests by their order: after a lost one all are another's.
#[test]
fn shifted_replies_are_nobodys_values() {
    let mut scene = Scene::behind_proxy(4);
    scene.begin(&Burst {
        keys: (0..12).map(|key| format!("k{key}")).collect(),
        ..Burst::of(Site::InFlight, 12)
    });
    scene.collect();
    scene.begin(&Burst {
        keys: (0..12).map(|key| format!("k{key}")).collect(),
        callers: 12,
        ..load(6_000 * MS)
    });
    scene.trouble();
    for round in 0..20 {
        let to = [is_begin as fn(&[u8]) -> bool, is_finish][round % 2];
        scene.proxy().lose_replies(4, to, false);
        meanwhile(250 * MS);
    }
    scene.collect();
    let misrouted = scene.misrouted();
    println!("{misrouted} replies were another request's");
    assert!(misrouted > 0, "no reply was shifted");
    scene.recovers();
    // One is lost, all behind it on its connection are another's, and that is replaced.
    scene.trouble();
    let shift = |proxy: &Proxy| proxy.lose_replies(1, is_begin, false);
    for _ in 0..10 {
        is_replaced(&mut scene, "shifted", shift);
    }
    scene.recovers();
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 15, by a way that swallows everything for a moment.
#[test]
fn a_way_that_loses_bytes_for_a_moment_loses_answers_and_mixes_none() {
    let mut scene = Scene::behind_proxy(4);
    scene.begin(&load(6_000 * MS));
    scene.trouble();
    for round in 0..20 {
        let lost = [Way::Down, Way::Up, Way::Both][round % 3];
        scene.proxy().set(Mode::Swallow(lost));
        meanwhile(20 * MS);
        scene.proxy().set(Mode::Pass);
        meanwhile(250 * MS);
    }
    scene.collect();
    scene.recovers();
    scene.ends_well(LEASE + BESIDE_BODIES);
}

/// Row 32.
#[test]
fn connections_that_break_in_any_way_are_made_again() {
    let mut scene = Scene::behind_proxy(4);
    for how in [Cut::Reset, Cut::Close, Cut::HalfClose] {
        scene.begin(&load(2_200 * MS));
        scene.trouble();
        for _ in 0..20 {
            scene.proxy().cut(how);
            meanwhile(100 * MS);
        }
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BREAKER_PAUSE + BESIDE_BODIES);
}

/// Row 32.
#[test]
fn replies_that_are_cut_or_corrupted_end_a_connection_and_no_call() {
    let mut scene = Scene::behind_proxy(4);
    scene.begin(&load(5_000 * MS));
    scene.trouble();
    for round in 0..20 {
        scene.proxy().cut_after(1 + 37 * round);
        meanwhile(100 * MS);
    }
    let cuts = scene.proxy().faults();
    for _ in 0..20 {
        scene.proxy().set(Mode::Corrupt);
        meanwhile(10 * MS);
        scene.proxy().set(Mode::Pass);
        meanwhile(100 * MS);
    }
    let corrupted = scene.proxy().faults() - cuts;
    println!("{cuts} replies were cut, some corrupted {corrupted} times");
    assert!(cuts >= 10 && corrupted >= 10, "{cuts} and {corrupted}");
    scene.collect();
    scene.recovers();
    scene.ends_well(BREAKER_PAUSE + BESIDE_BODIES);
}

/// Rows 32 and 33: a way that carries nothing for a while, loses nothing, and is there again.
#[test]
fn a_stalled_way_delays_nobody() {
    let mut scene = Scene::behind_proxy(4);
    for (stalled, times) in [(100 * MS, 20), (1_500 * MS, 2), (4_000 * MS, 1)] {
        scene.begin(&load(times * (stalled + 100 * MS)));
        scene.trouble();
        for _ in 0..times {
            scene.proxy().set(Mode::Stall);
            meanwhile(stalled);
            scene.proxy().set(Mode::Pass);
            meanwhile(50 * MS);
        }
        scene.collect();
        scene.recovers();
    }
    scene.ends_well(BESIDE_BODIES);
}

/// Row 32.
#[test]
fn a_way_that_turns_everybody_away_or_is_narrow_delays_nobody() {
    let mut scene = Scene::behind_proxy(4);
    scene.begin(&load(2_500 * MS));
    scene.trouble();
    scene.proxy().set(Mode::CloseAtOnce);
    scene.proxy().cut(Cut::Close);
    meanwhile(2_000 * MS);
    scene.proxy().set(Mode::Pass);
    scene.collect();
    scene.recovers();
    scene.begin(&load(2_000 * MS));
    scene.trouble();
    scene.proxy().set(Mode::Throttle(20_000));
    scene.collect();
    scene.proxy().set(Mode::Pass);
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}

/// Row 32: connections that stay open and carry nothing, while new ones are fine.
#[test]
fn connections_that_became_black_holes_are_replaced() {
    let mut scene = Scene::behind_proxy(4);
    scene.begin(&load(10_000 * MS));
    scene.trouble();
    for _ in 0..6 {
        scene.proxy().swallow_present();
        meanwhile(1_500 * MS);
    }
    scene.collect();
    scene.recovers();
    scene.ends_well(BESIDE_BODIES);
}
