//! Figures: what calls took beside bodies, and how long it took until a dead leader was replaced.

use std::ops::RangeInclusive;

use super::doubles::{end_of, ended_by_death};
use super::{Expectation, pid_of};
use crate::ledger::Run;
use crate::orders::Answer;

/// More runs of one key than overlap any call.
const WINDOW: usize = 64;

/// What a call took beside the runs of its key, in microseconds, unless one of them died or stood still.
pub(super) fn added(answer: &Answer, runs: &[&Run], expected: &Expectation<'_>) -> Option<u64> {
    let (from, to) = (answer.arrived, answer.answered);
    let behind = runs.partition_point(|run| run.started < to);
    let (mut covered, mut until) = (0, from);
    for run in &runs[behind.saturating_sub(WINDOW)..behind] {
        let end = end_of(run, expected);
        if end < from {
            continue;
        }
        let stood = |span: &RangeInclusive<u64>| *span.start() <= to && from <= *span.end();
        let of_run = expected.stopped.of(pid_of(&run.name));
        if run.ended.is_none() || of_run.iter().any(stood) {
            return None;
        }
        let (start, end) = (run.started.max(until), end.min(to));
        covered += end.saturating_sub(start);
        until = until.max(end);
    }
    let died = |run: &&&Run| {
        ended_by_death(run, expected).is_some_and(|at| at <= to && from <= at + 4_000_000)
    };
    if runs[..behind]
        .iter()
        .rev()
        .take(WINDOW)
        .any(|run| died(&run))
    {
        return None;
    }
    Some((to - from).saturating_sub(covered))
}

/// For each run that died with its process: how long it took until another began, in milliseconds and in order.
pub fn takeovers(runs: &[Run], expected: &Expectation<'_>) -> Vec<u64> {
    let next = |dead: &Run, at: u64| {
        let later = runs.iter().filter(|run| run.key == dead.key);
        later.map(|run| run.started).find(|started| *started >= at)
    };
    let mut found: Vec<_> = runs
        .iter()
        .filter_map(|run| {
            let at = ended_by_death(run, expected)?;
            Some((next(run, at)? - at) / 1_000)
        })
        .collect();
    found.sort_unstable();
    found
}
