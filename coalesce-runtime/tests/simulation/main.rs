//! The promises of the protocol on simulated pods, whose coordinator fails in every way that Redis can.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(
    clippy::cast_possible_truncation,
    reason = "a simulation lasts for seconds"
)]
#![expect(
    clippy::struct_excessive_bools,
    reason = "options of a call site are what they are"
)]

mod body;
mod books;
mod checker;
mod dice;
mod found;
mod hearing;
mod hub;
mod ledger;
mod play;
mod pod;
mod runs;
mod sabotage;
mod sabotaged;
mod scenario;
mod server;
mod sites;
mod story;
mod weather;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::checker::{Wrong, check};
use crate::play::play;
use crate::sabotage::Sabotage;
use crate::scenario::Scenario;

/// What one seed came to.
fn outcome(seed: u64, sabotage: Sabotage) -> (Vec<Wrong>, String, [u64; 3]) {
    let scenario = Scenario::of(seed);
    let hub = play(&scenario, sabotage);
    let wrongs = check(&scenario, &hub);
    let story = if wrongs.is_empty() {
        String::new()
    } else {
        story::story(&scenario, &hub, &wrongs)
    };
    let ledger = hub.ledger();
    let counts = [
        ledger.calls.len(),
        ledger.runs.len(),
        ledger.faults.len() + ledger.deaths.len(),
    ];
    (wrongs, story, counts.map(|count| count as u64))
}

/// Tokens are random. All else comes from the seed.
#[test]
fn a_seed_tells_the_same_story_twice() {
    let tell = |seed| {
        let scenario = Scenario::of(seed);
        let hub = play(&scenario, Sabotage::None);
        story::plot(&hub)
    };
    let differ: Vec<_> = (0..300).filter(|seed| tell(*seed) != tell(*seed)).collect();
    assert_eq!(differ, Vec::<u64>::new());
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap())
}

#[test]
fn ten_thousand_seeds_keep_every_promise() {
    if let Some(seed) = from_environment("COALESCE_SIM_SEED") {
        let (wrongs, story, _) = outcome(seed, Sabotage::None);
        assert!(wrongs.is_empty(), "{story}");
        return;
    }
    let seeds = from_environment("COALESCE_SIM_SEEDS").unwrap_or(10_000);
    let began = Instant::now();
    let (next, totals) = (AtomicU64::new(0), [(); 3].map(|()| AtomicU64::new(0)));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    let (wrongs, story, counts) = outcome(seed, Sabotage::None);
                    for (total, count) in totals.iter().zip(counts) {
                        total.fetch_add(count, Ordering::Relaxed);
                    }
                    if !wrongs.is_empty() {
                        failures.lock().unwrap().push((seed, wrongs, story));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort_by_key(|(seed, ..)| *seed);
    let mut kinds = BTreeMap::<_, Vec<_>>::new();
    for (seed, wrongs, _) in &failures {
        for (promise, _) in wrongs {
            let seeds = kinds.entry(*promise).or_default();
            if seeds.last() != Some(seed) {
                seeds.push(*seed);
            }
        }
    }
    let [calls, runs, faults] = totals.map(AtomicU64::into_inner);
    let took = began.elapsed();
    println!("{seeds} seeds: {calls} calls, {runs} runs, {faults} faults in {took:?}");
    for (promise, seeds) in &kinds {
        println!(
            "{promise}: {} seeds, {:?}",
            seeds.len(),
            &seeds[..seeds.len().min(12)]
        );
    }
    if let Some((seed, _, story)) = failures.first() {
        panic!(
            "{story}\n{} of {seeds} seeds broke a promise; this one alone:\n\
             COALESCE_SIM_SEED={seed} cargo test -p coalesce-runtime --test simulation ten_thousand",
            failures.len()
        );
    }
    // Sixty seconds for ten thousand, and five times that for a busy machine.
    let longest = Duration::from_millis(30) * u32::try_from(seeds.max(10_000)).unwrap();
    assert!(took <= longest, "{took:?}");
}
