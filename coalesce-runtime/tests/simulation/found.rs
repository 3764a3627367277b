//! What seeds have found: the smallest scenario of each, which broke a promise before it was mended.

use std::time::Duration;

use crate::checker::check;
use crate::ledger::{How, Style};
use crate::play::play;
use crate::sabotage::Sabotage;
use crate::scenario::{Act, Body, KeyPlan, Scenario};
use crate::sites::SITES;
use crate::story::story;
use crate::weather::{Climate, Outage, Weather};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Two pods, and one key of the call site with this name, whose bodies do this one after the other.
fn two_pods(climate: Climate, site: &str, bodies: &[(u64, How)]) -> Scenario {
    let body = |(takes, ends): &(u64, How)| Body {
        takes: ms(*takes),
        ends: *ends,
    };
    let key = KeyPlan {
        site: SITES
            .iter()
            .position(|(_, terms)| terms.name == site)
            .unwrap(),
        style: Style::Detached,
        bodies: bodies.iter().map(body).collect(),
    };
    Scenario {
        seed: 0,
        climate,
        pods: 2,
        lease: ms(3_000),
        keys: vec![key],
        acts: Vec::new(),
        weather: Weather::default(),
    }
}

fn call(at: u64, pod: usize) -> (Duration, Act) {
    styled(at, pod, Style::Detached)
}

fn styled(at: u64, pod: usize, style: Style) -> (Duration, Act) {
    (ms(at), Act::Call { key: 0, pod, style })
}

fn outage(pod: usize, from: u64, to: u64, frozen: bool) -> Outage {
    Outage {
        pod: Some(pod),
        from: ms(from),
        to: ms(to),
        frozen,
    }
}

fn keeps_every_promise(scenario: &Scenario) {
    let hub = play(scenario, Sabotage::None);
    let wrongs = check(scenario, &hub);
    assert!(wrongs.is_empty(), "{}", story(scenario, &hub, &wrongs));
}

/// The look that was to say which value is too old got no answer, and any value was new enough.
#[test]
fn a_refresh_whose_first_question_is_lost_does_not_return_the_stored_value() {
    let mut scenario = two_pods(Climate::Stormy, "fresh", &[(10, How::Value)]);
    scenario.weather.outages = vec![outage(1, 1_000, 1_251, true)];
    scenario.acts = vec![call(0, 0), styled(1_000, 1, Style::Refresh)];
    keeps_every_promise(&scenario);
}

/// Whoever had to run for itself waited without limit for another who did.
#[test]
fn a_value_too_large_to_share_makes_nobody_wait_longer_than_the_limit() {
    let bodies = [(4_900, How::Large), (4_900, How::Large)];
    let mut scenario = two_pods(Climate::Deadly, "large", &bodies);
    scenario.acts = vec![call(0, 0), call(10, 1), call(20, 1), call(30, 1)];
    keeps_every_promise(&scenario);
}

/// A value that was read before its refresh failed was refreshed again at once, and that one's failure
/// found the next, so that a key in demand knew no pause.
#[test]
fn a_key_in_demand_pauses_after_a_failed_refresh_like_any_other() {
    let mut bodies = vec![(10, How::Value)];
    bodies.extend([(50, How::Error); 20]);
    for latency in [1, 5, 20] {
        let mut scenario = two_pods(Climate::Calm, "swr", &bodies);
        scenario.weather.latency = latency;
        scenario.acts = vec![call(0, 0)];
        let busy = (0..400).map(|number| call(800 + 2 * number, usize::from(number % 2 == 0)));
        scenario.acts.extend(busy);
        keeps_every_promise(&scenario);
    }
}

/// The end of the body was forgotten over the fence, which came later.
#[test]
fn a_flight_fenced_when_its_body_had_ended_is_not_for_those_who_came_in_between() {
    let mut scenario = two_pods(Climate::Stormy, "in_flight", &[(100, How::Value)]);
    scenario.weather.outages = vec![outage(0, 100, 400, false)];
    let fence = Act::Invalidate { key: 0, pod: 1 };
    scenario.acts = vec![call(0, 0), call(500, 1), (ms(600), fence)];
    keeps_every_promise(&scenario);
}

/// Whoever joined a look on its way was told what it had seen, invalidated since or not.
#[test]
fn a_look_on_its_way_is_not_for_those_who_come_behind_an_invalidation() {
    for seed in 0..50 {
        let mut scenario = two_pods(Climate::Deadly, "fresh", &[(10, How::Value)]);
        (scenario.seed, scenario.weather.latency) = (seed, 40);
        let fence = Act::Invalidate { key: 0, pod: 0 };
        scenario.acts = vec![call(0, 0), (ms(1_300), fence)];
        scenario
            .acts
            .extend((0..80).map(|number| call(1_300 + number, 1)));
        scenario.acts.sort_by_key(|(at, _)| *at);
        keeps_every_promise(&scenario);
    }
}

/// The mark of an invalidation ended with the longest flight, and a FINISH that was sent before came behind it.
#[test]
fn a_fenced_flight_is_not_retained_however_long_its_finish_takes() {
    let mut scenario = two_pods(
        Climate::Stormy,
        "kept",
        &[(4_900, How::Value), (10, How::Value)],
    );
    scenario.weather.outages = vec![outage(0, 100, 4_890, false), outage(0, 4_890, 5_200, true)];
    let fence = Act::Invalidate { key: 0, pod: 1 };
    scenario.acts = vec![call(0, 0), (ms(10), fence), call(5_300, 1)];
    keeps_every_promise(&scenario);
}

/// An invalidation left alone what a process ran for itself, and who came behind it was told that.
#[test]
fn a_process_that_invalidates_shares_nothing_from_before_that_it_ran_for_itself() {
    let bodies = [
        (500, How::Large),
        (2_000, How::Value),
        (200, How::Large),
        (10, How::Value),
    ];
    let mut scenario = two_pods(Climate::Deadly, "large", &bodies);
    let fence = Act::Invalidate { key: 0, pod: 1 };
    scenario.acts = vec![
        call(0, 0),
        call(10, 1),
        (ms(600), fence),
        call(700, 0),
        call(710, 1),
    ];
    keeps_every_promise(&scenario);
}
