//! Figures: what calls took beside bodies.

use std::ops::RangeInclusive;

use super::doubles::{end_of, ended_by_death};
use super::{Expectation, pid_of};
use crate::ledger::Run;
use crate::orders::Answer;

/// More runs of one key than overlap a call that takes no time; and for each millisecond that it takes, one more.
const WINDOW: usize = 64;

/// What a call took beside those runs of its key that `counts`, in microseconds, unless one of them died, or somebody
/// stood still for long.
pub(super) fn added(
    answer: &Answer,
    runs: &[&Run],
    expected: &Expectation<'_>,
    counts: impl Fn(&Run) -> bool,
) -> Option<u64> {
    let (from, to) = (answer.arrived, answer.answered);
    let behind = runs.partition_point(|run| run.started < to);
    let (mut covered, mut until) = (0, from);
    let stood = |span: &RangeInclusive<u64>| *span.start() <= to && from <= *span.end();
    if expected
        .stopped
        .too_long(Some(answer.pid))
        .iter()
        .any(stood)
    {
        return None;
    }
    let window = WINDOW + usize::try_from((to - from) / 1_000).unwrap_or(0);
    for run in &runs[behind.saturating_sub(window)..behind] {
        let end = end_of(run, expected);
        if end < from || !counts(run) {
            continue;
        }
        let of_run = expected.stopped.too_long(pid_of(&run.name));
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
        .take(window)
        .any(|run| died(&run))
    {
        return None;
    }
    Some((to - from).saturating_sub(covered))
}
