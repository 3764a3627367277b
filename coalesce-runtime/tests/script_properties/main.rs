//! What each script promises, for any questions in any order, each asked up to three times: the same as the cell.
//!
//! A story of questions is played on a private Redis, by the coordinator, and on the cell, which is the
//! scripts' pure twin. After each question the answer, lock, state, message and expiries are compared.
//! Then each rule is held against what was seen on the server alone: a mistake that both twins share
//! is found too. Some questions are asked of a server that is full or read-only as well. A story that fails is shrunk. `PROPTEST_CASES=2000` plays more.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod asks;
mod fleet_wide;
mod refused;
mod rules;
mod said;
mod seen;
mod stage;
mod story;

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use self::stage::Stage;
use self::story::{Script, Step, story_about};

/// A hundred stories, or as many as `PROPTEST_CASES` says.
fn stories() -> ProptestConfig {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        ProptestConfig::default().cases
    } else {
        100
    };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Plays stories about one script, between questions of all kinds.
fn every_story_holds(about: Script) {
    let config = ProptestConfig {
        max_shrink_iters: 2_000,
        ..stories()
    };
    let cases = config.cases;
    let stage = Stage::start();
    let played = TestRunner::new(config).run(&story_about(about), |story: Vec<Step>| {
        stage.play(&story).map_err(TestCaseError::fail)
    });
    match played {
        Ok(()) => {
            assert!(stage.questions() > u64::from(cases));
            assert!(stage.refused.get() > 0, "nothing was refused");
        }
        Err(TestError::Fail(reason, story)) => panic!("{reason}\nafter {story:#?}"),
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn begin_asked_again_in_any_story_says_the_same_role_and_elects_one() {
    every_story_holds(Script::Begin);
}

#[test]
fn renew_asked_again_in_any_story_keeps_the_owners_lock_and_takes_no_others() {
    every_story_holds(Script::Renew);
}

#[test]
fn finish_asked_again_in_any_story_stores_what_the_owner_says_and_once() {
    every_story_holds(Script::Finish);
}

#[test]
fn a_failed_refresh_in_any_story_leaves_the_value() {
    every_story_holds(Script::FailedRefresh);
}

#[test]
fn abandon_asked_again_in_any_story_frees_the_owners_lock_alone() {
    every_story_holds(Script::Abandon);
}

#[test]
fn replace_asked_again_in_any_story_fences_the_flight_and_keeps_the_first_fence() {
    every_story_holds(Script::Replace);
}

#[test]
fn look_asked_again_in_any_story_reads_and_touches_nothing() {
    every_story_holds(Script::Look);
}

/// The one number that a script computes from three: two of the leader's, one of the server's.
#[test]
fn the_end_of_a_body_is_what_its_leader_says_if_it_can_be_true() {
    let stage = Stage::start();
    let config = ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // Said to have ended that long after (or before) the server's now, and that long ago.
    let offsets = (-80_000_000..5_000_000_i64, 0..70_000_000_u64);
    let played = TestRunner::new(config).run(&offsets, |(said, ended_ago)| {
        stage
            .finish_dated(said, ended_ago)
            .map_err(TestCaseError::fail)
    });
    assert_eq!(played, Ok(()));
}
