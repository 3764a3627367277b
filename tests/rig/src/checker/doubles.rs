//! Doubles: runs of a key beside one another, or in spite of a value that is kept, and the reasons there are for them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;

use super::accounts::{RECOVERY, TOO_LONG};
use super::bypasses::is_allowed;
use super::{Expectation, micros, pid_of};
use crate::ledger::Run;
use crate::orders::Answer;

/// By then a process that did not stand still has asked, subscribed and asked again.
const ASKED: u64 = 250_000;

/// The widest gap between two polls, and what a process does not notice.
const POLL: u64 = 1_000_000 + TOO_LONG;

/// A body that leads begins so soon behind its grant.
const BEGINS: u64 = 250_000;

/// And one that runs by itself behind the question that had no answer, on a machine that is busy.
const BEGINS_ALONE: u64 = 1_000_000;

/// An outcome that cannot be stored is known to be so behind so many microseconds.
const STORES: u64 = 1_000_000;

/// Who stands still for less renews its lease in time.
const MISSES_A_BEAT: u64 = 1_000_000;

/// And who does for less still has it when it goes on: a lease of three seconds, renewed each second.
const MISSES_ALL_BEATS: u64 = 1_900_000;

/// Who has just been granted a lease has all of it before it.
const MISSES_A_LEASE: u64 = 2_750_000;

/// Why a run began beside another, or in spite of a value that was kept; the weakest reason last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its call went past the coordinator, as it was told to.
    Switched,
    /// The process of the other had died.
    Death,
    /// The other had taken longer than a run may hold its key.
    Outlived,
    /// Redis could not be counted upon, and anything may have been lost.
    Trouble,
    /// It could again, and one of the two processes had not noticed: it had just asked in vain.
    Aftermath,
    /// The process of one of them had stood still, and just asked in vain, or had lost its lease.
    Standstill,
    /// The machine had been too busy for some process, and that of one of them had just asked in vain.
    Busy,
}

/// What was found out about runs.
#[derive(Debug, Default)]
pub(super) struct Doubles {
    pub(super) explained: BTreeMap<Reason, u64>,
    pub(super) unexplained: Vec<(Run, Run)>,
    pub(super) calm: usize,
    pub(super) strict: usize,
}

impl Doubles {
    pub(super) fn of(runs: &[Run], expected: &Expectation<'_>) -> Self {
        let mut by_key = BTreeMap::<_, Vec<_>>::new();
        for run in runs {
            by_key.entry(&run.key).or_default().push(run);
        }
        let in_trouble = |run: &Run, lasts: u64| {
            let mut trouble = expected.trouble.iter();
            trouble.any(|span| {
                (*span.start()..=span.end().saturating_add(lasts)).contains(&run.started)
            })
        };
        let calm = |run: &&Run| !in_trouble(run, 0);
        let may_be_alone = |run: &Run| {
            let mut spans = expected.aftermath.iter().chain(expected.busy);
            spans.any(|span| span.contains(&run.started)) || stood_still(run, expected)
        };
        // Whatever it is beside of.
        let excused =
            |run: &&Run| in_trouble(run, BEGINS) || may_be_alone(run) && is_alone(run, expected);
        // Who goes past the coordinator needs no other excuse, and proves nothing.
        let calm = runs.iter().filter(|run| !run.is_bypass()).filter(calm);
        let mut doubles = Self {
            calm: calm.clone().count(),
            strict: calm.filter(|run| !excused(run)).count(),
            ..Self::default()
        };
        for runs in by_key.into_values() {
            doubles.look_at(&runs, expected);
        }
        doubles
    }

    /// Runs of one key, in the order of their starts.
    fn look_at(&mut self, runs: &[&Run], expected: &Expectation<'_>) {
        let mut before: Vec<&Run> = Vec::new();
        for run in runs {
            before.retain(|earlier| kept_until(earlier, expected) > run.started);
            if run.is_bypass() {
                if !is_allowed(run, expected) {
                    self.unexplained.push(((*run).clone(), (*run).clone()));
                } else if !before.is_empty() {
                    *self.explained.entry(Reason::Switched).or_default() += 1;
                }
                // It is no flight, and nobody waits for it.
                continue;
            }
            let mut weakest = None;
            let unreasoned = before.iter().find(|earlier| {
                let reason = reason(earlier, run, expected);
                weakest = weakest.max(reason);
                reason.is_none()
            });
            match (unreasoned, weakest) {
                (Some(earlier), _) => {
                    let pair = ((*earlier).clone(), (*run).clone());
                    self.unexplained.push(pair);
                }
                (None, Some(reason)) => *self.explained.entry(reason).or_default() += 1,
                (None, None) => {}
            }
            before.push(run);
        }
    }
}

/// Until when another run needs a reason. Half of a value's age leaves room for how age is measured. Who panicked or was
/// dropped has stored no value.
fn kept_until(run: &Run, expected: &Expectation<'_>) -> u64 {
    if !run.notes.is_empty() {
        return end_of(run, expected);
    }
    end_of(run, expected).saturating_add(micros(expected.age_of(&run.key) / 2))
}

/// Why `run` may have started beside, or in spite of, `earlier`.
fn reason(earlier: &Run, run: &Run, expected: &Expectation<'_>) -> Option<Reason> {
    let during = |spans: &[RangeInclusive<u64>], lasts: u64| {
        let mut spans = spans.iter();
        spans.any(|span| {
            *span.start() <= run.started && earlier.started <= span.end().saturating_add(lasts)
        })
    };
    if ended_by_death(earlier, expected).is_some_and(|at| at <= run.started) {
        return Some(Reason::Death);
    }
    if outlives(earlier, run.started, expected) {
        return Some(Reason::Outlived);
    }
    let lost = |of, stood| lost_its_lease(of, run, stood, expected);
    let beside = end_of(earlier, expected) > run.started;
    if beside && pid_of(&earlier.name) == pid_of(&run.name) {
        // Whatever Redis does, the fold of a process needs nobody's help; but once it knows that it has lost its lease,
        // newcomers ask for themselves.
        return lost(earlier, MISSES_ALL_BEATS).then_some(Reason::Standstill);
    }
    // It may begin with a grant in hand that is over.
    let lost = lost(earlier, MISSES_A_BEAT) || lost(run, MISSES_A_LEASE);
    let alone = |run: &&Run| is_alone(run, expected);
    let pair = [earlier, run];
    let in_vain = pair.iter().any(alone) || is_not_stored(earlier, run, expected);
    let mut stood = pair.iter().filter(|run| stood_still(run, expected));
    let reasons = [
        (Reason::Trouble, during(expected.trouble, BEGINS)),
        (Reason::Aftermath, in_vain && during(expected.aftermath, 0)),
        (Reason::Standstill, stood.any(alone) || lost),
        (Reason::Busy, in_vain && during(expected.busy, 0)),
    ];
    let found = reasons.iter().find(|(_, is_one)| *is_one);
    found.map(|(reason, _)| *reason)
}

/// Whether a caller was answered by a run that began when another had begun and ended since it asked: it should have been
/// told of that one, by a poll at the latest, and its process had no reason to run the body itself.
pub(super) fn passes_over(
    answer: &Answer,
    maker: &Run,
    runs: &[&Run],
    expected: &Expectation<'_>,
) -> bool {
    if maker.is_bypass() || !expected.age.is_zero() {
        return false;
    }
    let told = if pid_of(&maker.name) == Some(answer.pid) {
        0
    } else {
        POLL
    };
    let asked = answer.arrived + ASKED;
    let from = runs.partition_point(|run| run.started < asked);
    let mut between = runs[from..]
        .iter()
        .take_while(|run| run.started < maker.started);
    between.any(|run| {
        let over = run.ended.is_some_and(|end| end + told < maker.started);
        over && tells(run, expected) && !is_excused(answer, maker, run, expected)
    })
}

/// Whether those who waited for it are told its outcome.
fn tells(run: &Run, expected: &Expectation<'_>) -> bool {
    let end = end_of(run, expected);
    run.notes.is_empty() && !outlives(run, end, expected)
}

fn is_excused(answer: &Answer, maker: &Run, run: &Run, expected: &Expectation<'_>) -> bool {
    let trouble = |span: &RangeInclusive<u64>| {
        *span.start() <= maker.started && answer.arrived <= *span.end()
    };
    let stood = |span: &RangeInclusive<u64>| {
        *span.start() <= maker.started && answer.arrived <= span.end() + RECOVERY
    };
    let pids = [Some(answer.pid), pid_of(&maker.name), pid_of(&run.name)];
    let mut not_calm = expected.trouble.iter().chain(expected.aftermath);
    not_calm.any(trouble)
        || expected.busy.iter().any(trouble) && is_alone(maker, expected)
        || pids
            .iter()
            .any(|&pid| expected.stopped.too_long(pid).iter().any(stood))
}

/// Whether its process had just asked in vain, and may have run it by itself.
fn is_alone(run: &Run, expected: &Expectation<'_>) -> bool {
    let just = run.started.saturating_sub(BEGINS_ALONE)..=run.started;
    expected.in_vain.during(pid_of(&run.name), &just)
}

/// Whether its process asked in vain while it ran or when its outcome was to be stored.
fn is_not_stored(earlier: &Run, run: &Run, expected: &Expectation<'_>) -> bool {
    let until = end_of(earlier, expected).saturating_add(STORES);
    let meanwhile = earlier.started..=until.min(run.started);
    expected.in_vain.during(pid_of(&earlier.name), &meanwhile)
}

/// Whether its process had stood still shortly before for so long that what it had asked got no answer.
fn stood_still(run: &Run, expected: &Expectation<'_>) -> bool {
    let reason =
        |span: &RangeInclusive<u64>| (*span.start()..=span.end() + RECOVERY).contains(&run.started);
    let of_run = expected.stopped.too_long(pid_of(&run.name));
    of_run.iter().any(reason)
}

/// Whether its process stood still for more than that, while it ran or with the grant in hand, before `run` began.
fn lost_its_lease(earlier: &Run, run: &Run, stood: u64, expected: &Expectation<'_>) -> bool {
    let reason = |span: &RangeInclusive<u64>| {
        span.end() - span.start() > stood
            && *span.start() <= run.started
            && earlier.started <= span.end() + BEGINS
    };
    let of_earlier = expected.stopped.too_long(pid_of(&earlier.name));
    of_earlier.iter().any(reason)
}

/// Whether it had held its key for as long as it may when another began at `then`. It was granted the key before it began.
fn outlives(run: &Run, then: u64, expected: &Expectation<'_>) -> bool {
    let held_until = run.started.saturating_add(micros(expected.pending));
    held_until <= end_of(run, expected).min(then).saturating_add(BEGINS)
}

/// When it ended, or its process did.
pub(super) fn end_of(run: &Run, expected: &Expectation<'_>) -> u64 {
    run.ended
        .or_else(|| ended_by_death(run, expected))
        .unwrap_or(u64::MAX)
}

/// When the run's process was killed, if that was before its end.
pub(super) fn ended_by_death(run: &Run, expected: &Expectation<'_>) -> Option<u64> {
    if run.ended.is_some() {
        return None;
    }
    let killed = |(pid, _): &&(u32, u64)| Some(*pid) == pid_of(&run.name);
    let (_, at) = expected.killed.iter().find(killed)?;
    Some(*at)
}
