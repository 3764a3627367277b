//! Leaders that are killed by the score, and how long it takes until a caller that was waiting leads.

use std::collections::HashMap;
use std::time::Duration;

use coalesce_rig::{Burst, Pod, Site, eventually};

use crate::scene::{BESIDE_BODIES, LEASE, MS, Scene, fleet};

/// Killed one behind the other, while callers wait for all of them.
const LEADERS: usize = 20;

/// Kills that many leaders, each of a key of its own, while callers in the scene's two processes wait for all
/// of them: after how many milliseconds one of those led, in order.
fn kill_leaders(scene: &mut Scene) -> Vec<u64> {
    let before = scene.ledger.runs().len();
    let mut leaders = fleet(LEADERS, &scene.server.url(), &scene.ledger);
    let keys: Vec<_> = leaders.iter().map(|_| scene.new_key()).collect();
    for (leader, key) in leaders.iter_mut().zip(&keys) {
        leader.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 60_000,
            ..Burst::of(Site::InFlight, 1)
        });
    }
    let lead = || scene.ledger.runs().len() == before + LEADERS;
    eventually("all of them lead", lead);
    scene.begin(&Burst {
        keys: keys.clone(),
        body_ms: 50,
        ..Burst::of(Site::InFlight, 3 * LEADERS)
    });
    eventually("callers wait for all of them", || {
        let waiting = |pod: &mut Pod| pod.state().in_flight == LEADERS;
        scene.pods.iter_mut().all(waiting)
    });
    let mut killed = HashMap::new();
    for (leader, key) in leaders.iter_mut().zip(keys) {
        killed.insert(key, scene.kill(leader));
    }
    let answers = scene.collect().len();
    assert_eq!(answers, 2 * 3 * LEADERS, "everybody who waited has a value");
    let runs = &scene.ledger.runs()[before..];
    assert_eq!(runs.len(), 2 * LEADERS, "one takeover for each");
    let mut took: Vec<_> = runs[LEADERS..]
        .iter()
        .map(|run| run.started.saturating_sub(killed[&run.key]) / 1_000)
        .collect();
    took.sort_unstable();
    took
}

fn ends_well(scene: Scene) {
    // Callers waited for the last of them to begin, and for the last of them to be killed.
    scene.ends_well(2 * LEASE + BESIDE_BODIES);
}

/// Row 2. `RIG_KILLS=200` kills that many.
#[test]
fn every_leader_that_is_killed_is_replaced_by_a_caller_that_was_waiting_within_lease_and_a_second()
{
    let kills = std::env::var("RIG_KILLS").ok();
    let kills: usize = kills.and_then(|kills| kills.parse().ok()).unwrap_or(40);
    let mut scene = Scene::new(2);
    let mut took: Vec<_> = (0..kills.div_ceil(LEADERS))
        .flat_map(|_| kill_leaders(&mut scene))
        .collect();
    took.sort_unstable();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{} takeovers, median {median} ms, longest {longest} ms",
        took.len()
    );
    let longest = Duration::from_millis(longest);
    assert!(longest <= LEASE + 1_000 * MS, "{longest:?}");
    ends_well(scene);
}

/// A server removes what has expired bit by bit: with many keys, minutes late. Whoever waits asks for the lock itself.
#[test]
fn fifty_thousand_unrelated_keys_that_expire_delay_no_takeover() {
    let mut scene = Scene::new(2);
    let without = kill_leaders(&mut scene);
    let fill =
        "for i = 1, 50000 do redis.call('SET', 'unrelated:' .. i, 'x', 'PX', 1000 + i * 10) end";
    scene.server.command(&["EVAL", fill, "0"]);
    let with = kill_leaders(&mut scene);
    let median = |took: &[u64]| took[took.len() / 2];
    println!(
        "median {} ms without, {} ms with; longest {:?} and {:?}",
        median(&without),
        median(&with),
        without.last(),
        with.last()
    );
    // Where in its second a heartbeat was differs from one to the next.
    assert!(median(&with) <= median(&without) + 500);
    assert!(with.last() <= without.last().map(|longest| longest + 500).as_ref());
    ends_well(scene);
}
