//! Leaders that are killed by the score, and how long it takes until a caller that was waiting leads.

use std::time::Duration;

use coalesce_rig::{
    Burst, Leaks, Ledger, Pod, RedisServer, Site, Totals, eventually, note_totals, now_micros,
};

use crate::scene::{LEASE, LEFTOVERS, MS, fleet};

/// Killed at once.
const LEADERS: usize = 20;

/// Kills that many leaders, each of a key of its own, while callers in two other processes wait for all
/// of them: after how many milliseconds one of those led, in order.
fn kill_leaders(server: &RedisServer, round: usize) -> Vec<u64> {
    let ledger = Ledger::default();
    let mut followers = fleet(2, &server.url(), &ledger);
    let tasks = followers.iter_mut().map(|pod| pod.state().tasks).max();
    let mut leaders = fleet(LEADERS, &server.url(), &ledger);
    let keys: Vec<_> = (0..LEADERS)
        .map(|number| format!("{round}-{number}"))
        .collect();
    for (leader, key) in leaders.iter_mut().zip(&keys) {
        leader.begin(&Burst {
            keys: vec![key.clone()],
            body_ms: 60_000,
            ..Burst::of(Site::InFlight, 1)
        });
    }
    eventually("all of them lead", || ledger.runs().len() == LEADERS);
    for follower in &mut followers {
        follower.begin(&Burst {
            keys: keys.clone(),
            body_ms: 50,
            ..Burst::of(Site::InFlight, 3 * LEADERS)
        });
    }
    eventually("callers wait for all of them", || {
        let waiting = |pod: &mut Pod| pod.state().in_flight == LEADERS;
        followers.iter_mut().all(waiting)
    });
    for leader in &mut leaders {
        leader.kill();
    }
    let killed = now_micros();
    let answers: usize = followers.iter_mut().map(|pod| pod.answers().len()).sum();
    assert_eq!(answers, 2 * 3 * LEADERS, "everybody who waited has a value");
    let runs = ledger.runs();
    assert_eq!(runs.len(), 2 * LEADERS, "one takeover for each");
    let mut took: Vec<_> = runs[LEADERS..]
        .iter()
        .map(|run| run.started.saturating_sub(killed) / 1_000)
        .collect();
    took.sort_unstable();
    let states = || followers.iter_mut().map(Pod::state).collect();
    let leaks = Leaks::of(server, tasks.unwrap_or(0), LEFTOVERS, states);
    note_totals(&Totals {
        faults: LEADERS as u64,
        calls: answers as u64,
        leaked: leaks.total(),
        ..Totals::default()
    });
    assert_eq!(leaks, Leaks::default());
    took
}

/// Row 2. `RIG_KILLS=200` kills that many.
#[test]
fn every_leader_that_is_killed_is_replaced_by_a_caller_that_was_waiting_within_lease_and_a_second()
{
    let kills = std::env::var("RIG_KILLS").ok();
    let kills = kills.and_then(|kills| kills.parse().ok()).unwrap_or(40);
    let server = RedisServer::start();
    let rounds = 0..usize::div_ceil(kills, LEADERS);
    let mut took: Vec<_> = rounds
        .flat_map(|round| kill_leaders(&server, round))
        .collect();
    took.sort_unstable();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{} takeovers, median {median} ms, longest {longest} ms",
        took.len()
    );
    let longest = Duration::from_millis(longest);
    assert!(longest <= LEASE + 1_000 * MS, "{longest:?}");
}

/// A server removes what has expired bit by bit: with many keys, minutes late. Whoever waits asks for the lock itself.
#[test]
fn fifty_thousand_unrelated_keys_that_expire_delay_no_takeover() {
    let server = RedisServer::start();
    let without = kill_leaders(&server, 0);
    let fill =
        "for i = 1, 50000 do redis.call('SET', 'unrelated:' .. i, 'x', 'PX', 1000 + i * 10) end";
    server.command(&["EVAL", fill, "0"]);
    let with = kill_leaders(&server, 1);
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
}
