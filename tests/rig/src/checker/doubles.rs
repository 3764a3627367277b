//! Doubles: runs of a key beside one another, or in spite of a value that is kept, and the reasons there are for them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::{Expectation, micros, pid_of};
use crate::ledger::Run;
use crate::orders::Answer;

/// A process that stands still for a part of a deadline gives up, when it goes on, what it has asked.
const TOO_LONG: u64 = 80_000;

/// By then a process that did not stand still has asked, subscribed and asked again.
const ASKED: u64 = 250_000;

/// The widest gap between two polls, and what a process does not notice.
const POLL: u64 = 1_000_000 + TOO_LONG;

/// And then it may ask nothing for a second, and the machine is busy.
const RECOVERY: u64 = 2_000_000;

/// How many have a reason, and which have none.
pub(super) fn find(runs: &[Run], expected: &Expectation<'_>) -> (usize, Vec<(Run, Run)>) {
    let mut by_key = BTreeMap::<_, Vec<_>>::new();
    for run in runs {
        by_key.entry(&run.key).or_default().push(run);
    }
    let (mut explained, mut unexplained) = (0, Vec::new());
    for runs in by_key.into_values() {
        // Runs come in the order of their starts.
        let mut before: Vec<&Run> = Vec::new();
        for run in runs {
            before.retain(|earlier| kept_until(earlier, expected) > run.started);
            let unreasoned = |earlier: &&&Run| !is_explained(earlier, run, expected);
            match before.iter().find(unreasoned) {
                Some(earlier) => unexplained.push(((*earlier).clone(), run.clone())),
                None => explained += usize::from(!before.is_empty()),
            }
            before.push(run);
        }
    }
    (explained, unexplained)
}

/// Until when another run needs a reason. Half of a value's age leaves room for how age is measured.
fn kept_until(run: &Run, expected: &Expectation<'_>) -> u64 {
    end_of(run, expected).saturating_add(micros(expected.age / 2))
}

/// Whether `run` may have started beside, or in spite of, `earlier`.
fn is_explained(earlier: &Run, run: &Run, expected: &Expectation<'_>) -> bool {
    let died = ended_by_death(earlier, expected).is_some_and(|at| at <= run.started);
    let trouble = expected
        .trouble
        .iter()
        .any(|span| *span.start() <= run.started && earlier.started <= *span.end());
    let beside = end_of(earlier, expected) > run.started;
    // Whatever Redis does, the fold of a process needs nobody's help.
    let folded = beside && pid_of(&earlier.name) == pid_of(&run.name);
    expected.switched || died || ((trouble || stood_still(earlier, run, expected)) && !folded)
}

/// Whether a caller was answered by a run that began when another had begun and ended since it asked: it should have been
/// told of that one, by a poll at the latest, and its process had no reason to run the body itself.
pub(super) fn passes_over(
    answer: &Answer,
    maker: &Run,
    runs: &[&Run],
    expected: &Expectation<'_>,
) -> bool {
    if expected.switched || !expected.age.is_zero() {
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
        over && !is_excused(answer, maker, run, expected)
    })
}

fn is_excused(answer: &Answer, maker: &Run, run: &Run, expected: &Expectation<'_>) -> bool {
    let trouble = |span: &RangeInclusive<u64>| {
        *span.start() <= maker.started && answer.arrived <= *span.end()
    };
    let stood = |span: &RangeInclusive<u64>| {
        span.end() - span.start() > TOO_LONG
            && *span.start() <= maker.started
            && answer.arrived <= span.end() + RECOVERY
    };
    let pids = [Some(answer.pid), pid_of(&maker.name), pid_of(&run.name)];
    expected.trouble.iter().any(trouble)
        || pids
            .iter()
            .any(|&pid| expected.stopped.of(pid).iter().any(stood))
}

/// Whether one of their processes stood still for so long that it may have run by itself, or lost its
/// lease: before it began, with the lock in hand, or while it ran.
fn stood_still(earlier: &Run, run: &Run, expected: &Expectation<'_>) -> bool {
    let reason = |span: &RangeInclusive<u64>| {
        span.end() - span.start() > TOO_LONG
            && *span.start() <= run.started
            && earlier.started <= span.end() + RECOVERY
    };
    [earlier, run]
        .iter()
        .any(|run| expected.stopped.of(pid_of(&run.name)).iter().any(reason))
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
