//! `self_bypass`: traffic that saves nothing goes straight through, traffic that does never leaves, and what left is
//! back within twenty windows.

use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::{Clocks, Coalescer, MemoryCoordinator, Policy};

use crate::fleet::{Ledger, MS};
use crate::way::Way;

const SECOND: Duration = Duration::from_secs(1);

/// The shortest window.
const WINDOW: Duration = Duration::from_secs(10);

/// One process, and calls that come at random.
struct Traffic {
    pod: Coalescer,
    policy: Arc<Policy>,
    ledger: Ledger,
    random: fastrand::Rng,
    /// No key of a lonely call comes twice.
    lonely: u32,
}

impl Traffic {
    async fn of(fresh_ttl: Duration) -> Self {
        let way = Way::long(&MemoryCoordinator::new(), 2 * MS);
        let pod = Coalescer::builder().coordinator(way);
        let clocks = Clocks::new(fresh_ttl, None, 30_000 * MS, Some(45_000 * MS)).unwrap();
        Self {
            pod: pod.build().await.unwrap(),
            policy: Arc::new(Policy::new(clocks).self_bypass()),
            ledger: Ledger::default(),
            random: fastrand::Rng::with_seed(11),
            lonely: 0,
        }
    }

    /// Twenty calls a second, of one of `keys` keys, or each of a key of its own where there are none.
    async fn flows(&mut self, keys: u32, lasts: Duration) {
        let until = tokio::time::Instant::now() + lasts;
        while tokio::time::Instant::now() < until {
            let gap = (50 * MS).mul_f64(-(1.0 - self.random.f64()).ln());
            tokio::time::sleep(gap).await;
            self.lonely += 1;
            let key = match keys {
                0 => self.lonely + 1_000,
                keys => self.random.u32(..keys),
            };
            let call = self.pod.call("n").key(key).policy(Arc::clone(&self.policy));
            let ledger = self.ledger.clone();
            tokio::spawn(call.run(move || async move { ledger.run(20 * MS).await }));
        }
    }

    /// Calls that went straight through so far.
    fn past(&self) -> u64 {
        let page = self.pod.snapshot_of("n");
        page.map_or(0, |page| page.bypassed.not_worth_it)
    }

    fn calls(&self) -> u64 {
        self.pod.snapshot_of("n").map_or(0, |page| page.calls)
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_never_meet_go_straight_through_but_for_one_window_in_twenty() {
    let mut traffic = Traffic::of(Duration::ZERO).await;
    traffic.flows(0, 3 * WINDOW).await;
    assert_eq!(traffic.past(), 0, "three windows must have lost");
    traffic.flows(0, WINDOW).await;
    assert!(traffic.past() > 0, "they have");
    let (calls, past) = (traffic.calls(), traffic.past());
    traffic.flows(0, 60 * WINDOW).await;
    let (calls, past) = (traffic.calls() - calls, traffic.past() - past);
    let share = 1_000 * past / calls;
    println!("{calls} calls, {past} straight through: {share} of 1,000");
    assert!((940..=960).contains(&share), "{share}");
}

#[tokio::test(start_paused = true)]
async fn a_hot_key_never_goes_past_whatever_comes_beside_it() {
    for keys in [1, 20] {
        let mut traffic = Traffic::of(SECOND).await;
        traffic.flows(keys, 50 * WINDOW).await;
        assert_eq!(traffic.past(), 0, "{keys} keys");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_back_within_twenty_windows_when_calls_meet_again() {
    let mut longest = Duration::ZERO;
    for phase in [4, 10, 16] {
        let mut traffic = Traffic::of(SECOND).await;
        traffic.flows(0, 10 * WINDOW + phase * WINDOW).await;
        assert!(traffic.past() > 0, "it has left");
        let (mut past, rose) = (0, tokio::time::Instant::now());
        let mut last = Duration::ZERO;
        while rose.elapsed() < 22 * WINDOW {
            traffic.flows(2, SECOND).await;
            if std::mem::replace(&mut past, traffic.past()) != traffic.past() {
                last = rose.elapsed();
            }
        }
        longest = longest.max(last);
    }
    println!("the last call that went straight through: {longest:?}");
    assert!(longest <= 19 * WINDOW + SECOND, "{longest:?}");
    assert!(longest > 15 * WINDOW, "one of them had just left");
}

#[tokio::test(start_paused = true)]
async fn a_call_site_that_does_not_say_so_never_goes_past() {
    let mut traffic = Traffic::of(Duration::ZERO).await;
    traffic.policy = Arc::new(Policy::new(*traffic.policy.clocks()));
    traffic.flows(0, 20 * WINDOW).await;
    assert_eq!(traffic.past(), 0);
}

/// What goes past asks the coordinator nothing, and a namespace is judged by itself.
#[tokio::test(start_paused = true)]
async fn what_goes_past_costs_no_round_trip_and_concerns_no_other_namespace() {
    let mut traffic = Traffic::of(Duration::ZERO).await;
    traffic.flows(0, 4 * WINDOW).await;
    let trips = |traffic: &Traffic| traffic.pod.snapshot_of("n").unwrap().round_trips.total();
    tokio::time::sleep(SECOND).await;
    let (before, past) = (trips(&traffic), traffic.past());
    traffic.flows(0, WINDOW).await;
    assert_eq!(trips(&traffic), before);
    assert!(traffic.past() > past);
    let other = traffic
        .pod
        .call("other")
        .key(1)
        .policy(Arc::clone(&traffic.policy));
    other.run(|| async { 1 }).await;
    assert_eq!(traffic.pod.snapshot_of("other").unwrap().outcomes.led, 1);
}
