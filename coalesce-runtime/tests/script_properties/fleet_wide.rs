//! The two scripts that are about no key: the positions of the kill switch, and the namespaces that processes have.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coalesce_rig::RedisServer;
use coalesce_runtime::coordination::Coordinator as _;
use coalesce_runtime::{RedisCoordinator, RedisSettings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::runtime::Runtime;

const LIFE: Duration = Duration::from_mins(10);

struct Redis {
    server: RedisServer,
    runtime: Runtime,
    coordinator: RedisCoordinator,
}

impl Redis {
    fn start() -> Self {
        let server = RedisServer::start();
        let runtime = Runtime::new().unwrap();
        let settings = RedisSettings::new(server.url()).deadline(Duration::from_secs(20));
        let connected = runtime.block_on(RedisCoordinator::connect(settings));
        Self {
            coordinator: connected.unwrap(),
            runtime,
            server,
        }
    }

    /// Milliseconds; -1: for ever, -2: it is not there.
    fn life_of(&self, name: &str) -> i64 {
        self.server.command(&["PTTL", name]).number()
    }

    fn every_story_holds<S: Strategy>(&self, stories: &S, holds: impl Fn(&Self, S::Value)) {
        let played = TestRunner::new(crate::stories()).run(stories, |story| {
            self.server.command(&["FLUSHALL"]);
            holds(self, story);
            Ok(())
        });
        played.unwrap_or_else(|failed| panic!("{failed}"));
    }
}

/// A position is set or cleared, asked up to three times: the answer is what it replaced, and the rest stays.
#[test]
fn switch_asked_again_in_any_story_says_what_it_replaced_and_touches_no_other_position() {
    let redis = Redis::start();
    let turns = vec(
        (0..4_u8, proptest::option::of("[a-z {}\":]{0,12}"), 1..=3_u8),
        1..12,
    );
    redis.every_story_holds(&turns, |redis, story| {
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        for (place, text, times) in story {
            let field = format!("field-{place}");
            for _ in 0..times {
                let turned = redis.coordinator.set_switch(&field, text.as_deref());
                let replaced = redis.runtime.block_on(turned).unwrap();
                let expected = match &text {
                    Some(text) => model.insert(field.clone(), text.clone()),
                    None => model.remove(&field),
                };
                assert_eq!(replaced, expected);
            }
            let found = redis
                .runtime
                .block_on(redis.coordinator.switches())
                .unwrap();
            assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), model);
            // The one thing that must outlive every incident.
            let life = if model.is_empty() { -2 } else { -1 };
            assert_eq!(redis.life_of("coalesce:switch"), life);
        }
    });
}

/// Processes say what they have, each up to three times: all of it is known, and none of it for ever.
#[test]
fn announce_asked_again_in_any_story_adds_names_that_go_with_the_last_process() {
    let redis = Redis::start();
    let words = vec((vec(0..6_u8, 1..4), 1..=3_u8), 1..8);
    redis.every_story_holds(&words, |redis, story| {
        let mut model = BTreeSet::new();
        for (names, times) in story {
            let names: Vec<_> = names.iter().map(|name| format!("shop::f{name}")).collect();
            for _ in 0..times {
                let said = redis.coordinator.announce(&names, LIFE);
                redis.runtime.block_on(said).unwrap();
            }
            model.extend(names);
            let known = redis
                .runtime
                .block_on(redis.coordinator.announced())
                .unwrap();
            assert_eq!(known.iter().cloned().collect::<BTreeSet<_>>(), model);
            assert_eq!(known.len(), model.len());
            let life = redis.life_of("coalesce:namespaces");
            assert!((1..=600_000).contains(&life), "{life}");
        }
    });
}
