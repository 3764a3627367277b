//! The model: every order in which callers, faults and time can meet on one key, under the real rules.
//!
//! The checker runs [`Cell`](coalesce_runtime::coordination::Cell) itself. Each mistake that the rules
//! guard against is also a switch of the model, and must show: a model that finds nothing proves nothing.

#![expect(
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a panic is how a test fails, the numbers are small, and how many states there are is of interest"
)]

mod caller;
mod machine;
mod setup;
mod world;

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Instant;

use coalesce_runtime::Key;
use stateright::{Checker, Model};

use crate::machine::{NO_OLD_OUTCOME, NO_OWN_LEASE, NO_TIMEOUT, ORDER};
use crate::setup::{Faults, Mistake, Setup};

/// The one key of the model.
pub(crate) fn key() -> Key {
    static KEY: LazyLock<Key> = LazyLock::new(|| Key::new("model", &[]));
    KEY.clone()
}

/// Explores all of `setup` and fails with the way to the first thing that must not be.
fn holds(name: &str, setup: Setup) {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let start = Instant::now();
    let checker = setup.checker().threads(threads).spawn_bfs().join();
    let (states, spent) = (checker.unique_state_count(), start.elapsed());
    println!("{name}: {states} states in {spent:.1?}");
    checker.assert_properties();
}

/// Looks for the shortest way on which `property` does not hold.
fn breaks(name: &str, property: &'static str, setup: &Setup) {
    for depth in 1..40 {
        let checker = setup.clone().checker().target_max_depth(depth);
        let checker = checker.spawn_bfs().join();
        if let Some(way) = checker.discovery(property) {
            let states = checker.unique_state_count();
            println!("{name}: {states} states until {:?}", way.into_actions());
            return;
        }
    }
    panic!("{name} does no harm: the model does not see it");
}

/// A process dies, another stalls for any time, and one answer is lost.
const TROUBLE: Faults = Faults {
    crashes: 1,
    losses: 1,
    stalls: 1,
    panics: 0,
    invalidations: 0,
};

#[test]
fn the_rules_hold_through_a_crash_a_stall_and_a_lost_answer() {
    let setup = Setup {
        faults: TROUBLE,
        ..Setup::default()
    };
    holds("crash, stall, lost answer", setup);
}

/// Bodies that run longer than a lease, and a lease that survives one lost beat.
fn with_beats() -> Setup {
    Setup {
        beats: true,
        lease: 3,
        body: 4,
        pending: 5,
        wait: 20,
        ..Setup::default()
    }
}

#[test]
fn the_rules_hold_for_bodies_longer_than_a_lease() {
    let setup = Setup {
        lease: 2,
        body: 3,
        pending: 4,
        faults: Faults {
            losses: 0,
            ..TROUBLE
        },
        ..with_beats()
    };
    holds("crash, stall, with beats", setup);
}

#[test]
fn the_rules_hold_through_a_panic() {
    let setup = Setup {
        faults: Faults {
            panics: 1,
            ..TROUBLE
        },
        ..Setup::default()
    };
    holds("crash, stall, lost answer, panic", setup);
}

#[test]
fn the_rules_hold_through_an_invalidation() {
    let setup = Setup {
        lingers: true,
        faults: Faults {
            invalidations: 1,
            crashes: 0,
            ..TROUBLE
        },
        ..Setup::default()
    };
    holds("stall, lost answer, invalidation", setup);
}

#[test]
fn the_rules_hold_while_beats_are_lost() {
    let setup = Setup {
        callers: 2,
        faults: Faults {
            invalidations: 1,
            crashes: 0,
            ..TROUBLE
        },
        ..with_beats()
    };
    holds("stall, lost answer, invalidation, with beats", setup);
}

#[test]
fn the_rules_hold_when_outcomes_expire_before_a_leader_must_give_up() {
    let setup = Setup {
        life: 3,
        pending: 6,
        faults: TROUBLE,
        ..Setup::default()
    };
    holds("crash, stall, lost answer, short life", setup);
}

fn crash() -> Faults {
    Faults {
        crashes: 1,
        ..Faults::default()
    }
}

fn invalidation() -> Faults {
    Faults {
        invalidations: 1,
        ..Faults::default()
    }
}

fn stall() -> Faults {
    Faults {
        stalls: 1,
        ..Faults::default()
    }
}

#[test]
fn an_unfenced_finish_overwrites_a_newer_outcome() {
    let setup = Setup {
        mistake: Some(Mistake::UnfencedFinish),
        faults: stall(),
        ..Setup::default()
    };
    breaks("unfenced finish", ORDER, &setup);
}

#[test]
fn waiters_that_never_take_over_time_out() {
    let setup = Setup {
        mistake: Some(Mistake::NoTakeover),
        faults: crash(),
        ..Setup::default()
    };
    breaks("no takeover", NO_TIMEOUT, &setup);
}

#[test]
fn an_acquire_that_is_not_idempotent_waits_out_its_own_lease() {
    let setup = Setup {
        mistake: Some(Mistake::NewTokenEachTime),
        faults: Faults {
            losses: 1,
            ..Faults::default()
        },
        ..Setup::default()
    };
    breaks("a new token each time", NO_OWN_LEASE, &setup);
}

#[test]
fn a_wait_below_the_lease_times_out_after_a_crash() {
    let setup = Setup {
        wait: 1,
        faults: crash(),
        ..Setup::default()
    };
    breaks("wait below lease", NO_TIMEOUT, &setup);
}

/// On a subscription that was there before its listener, messages may be late.
#[test]
fn a_caller_that_takes_any_outcome_gets_an_old_one() {
    let setup = Setup {
        mistake: Some(Mistake::AnyOutcome),
        lingers: true,
        faults: invalidation(),
        ..Setup::default()
    };
    breaks("any outcome", NO_OLD_OUTCOME, &setup);
}

/// The fence is later than the end when FINISH is asked again.
#[test]
fn a_caller_that_looks_at_the_fence_alone_gets_an_old_outcome() {
    let setup = Setup {
        mistake: Some(Mistake::FenceBeforeEnd),
        faults: Faults {
            losses: 1,
            ..invalidation()
        },
        ..Setup::default()
    };
    breaks("fence alone", NO_OLD_OUTCOME, &setup);
}

#[test]
fn a_caller_that_starts_again_without_a_farewell_waits_out_its_own_lease() {
    let setup = Setup {
        mistake: Some(Mistake::NoFarewell),
        lingers: true,
        faults: Faults {
            losses: 1,
            ..invalidation()
        },
        ..Setup::default()
    };
    breaks("no farewell", NO_OWN_LEASE, &setup);
}

/// "Nothing has happened" is read off the state, and states expire: a successor's outcome may have come
/// and gone while the leader was stalled.
#[test]
fn a_leader_that_retakes_after_a_long_silence_brings_back_an_older_outcome() {
    let setup = Setup {
        life: 1,
        mistake: Some(Mistake::LateRetake),
        faults: stall(),
        ..Setup::default()
    };
    breaks("late retake", ORDER, &setup);
}
