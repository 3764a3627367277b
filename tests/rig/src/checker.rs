//! The checker: holds what callers were answered against what bodies did, and says what cannot be explained.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::ledger::Run;
use crate::pod::Answer;

/// What is to be expected of a test, whatever was done to Redis in it.
#[derive(Clone, Debug)]
pub struct Expectation<'a> {
    /// The longest that any call may take.
    pub longest: Duration,
    /// When Redis was in trouble, in microseconds since the Unix epoch: processes may run a key beside one another.
    pub trouble: &'a [RangeInclusive<u64>],
    /// Processes that were killed, and when: their runs ended then.
    pub killed: &'a [(u32, u64)],
    /// Whether a value is kept for longer than the test takes.
    pub retains: bool,
    /// Whether callers may have been told to run for themselves, by the kill switch.
    pub switched: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Calls.
    pub calls: usize,
    /// Runs.
    pub runs: usize,
    /// The longest call, in milliseconds.
    pub longest_ms: u64,
    /// Answers without a value.
    pub errors: Vec<Answer>,
    /// Values of another key, or of a run that the ledger does not know.
    pub wrong: Vec<Answer>,
    /// Values of a flight that had ended before their caller arrived, though nothing is retained.
    pub early: Vec<Answer>,
    /// Calls that took longer than they may, and which runs of their key ended meanwhile.
    pub overlong: Vec<String>,
    /// Runs beside a run of the same key, without a reason.
    pub unexplained: Vec<(Run, Run)>,
}

/// Checks answers against runs.
pub fn check(runs: &[Run], answers: &[Answer], expected: &Expectation<'_>) -> Findings {
    let known: HashMap<_, _> = runs.iter().map(|run| (&run.name, &run.key)).collect();
    let mut findings = Findings {
        calls: answers.len(),
        runs: runs.len(),
        unexplained: unexplained(runs, expected),
        ..Findings::default()
    };
    for answer in answers {
        let took = Duration::from_micros(answer.answered.saturating_sub(answer.arrived));
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        findings.longest_ms = findings.longest_ms.max(ms);
        if took > expected.longest {
            findings.overlong.push(story(answer, runs));
        }
        let (Some(of_key), Some(run)) = (&answer.of_key, &answer.run) else {
            findings.errors.push(answer.clone());
            continue;
        };
        if *of_key != answer.key || known.get(run) != Some(&&answer.key) {
            findings.wrong.push(answer.clone());
        }
        let is_early = answer.ended.is_some_and(|ended| ended < answer.arrived);
        if is_early && !expected.retains {
            findings.early.push(answer.clone());
        }
    }
    findings
}

/// A call and the runs of its key beside it, in milliseconds from the call on.
fn story(answer: &Answer, runs: &[Run]) -> String {
    let since = |at: u64| at.cast_signed().wrapping_sub(answer.arrived.cast_signed()) / 1_000;
    let mut story = format!(
        "answered after {} ms by {:?}; runs:",
        since(answer.answered),
        answer.run,
    );
    let beside = |run: &&Run| {
        let ended = run.ended.map_or(0, since);
        run.key == answer.key && ended > -300 && run.started < answer.answered
    };
    for run in runs.iter().filter(beside) {
        let ended = run.ended.map(since);
        let (name, started) = (&run.name, since(run.started));
        write!(story, " {name} {started}..{ended:?},").expect("a text has room");
    }
    story
}

impl Findings {
    /// Fails when anything was found that must not be.
    pub fn assert_clean(&self) {
        let Self {
            errors,
            wrong,
            early,
            overlong,
            unexplained,
            ..
        } = self;
        assert_few("values of another key", wrong);
        assert_few("calls without a value", errors);
        assert_few("values from before the call", early);
        assert_few("calls that took too long", overlong);
        assert_few("runs without a reason", unexplained);
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls,
            runs,
            longest_ms,
            ..
        } = self;
        write!(f, "{calls} calls, {runs} runs, longest {longest_ms} ms")
    }
}

fn assert_few<T: fmt::Debug>(what: &str, found: &[T]) {
    let shown = &found[..found.len().min(3)];
    assert!(found.is_empty(), "{} {what}: {shown:?}", found.len());
}

fn unexplained(runs: &[Run], expected: &Expectation<'_>) -> Vec<(Run, Run)> {
    let mut by_key = BTreeMap::<_, Vec<_>>::new();
    for run in runs {
        by_key.entry(&run.key).or_default().push(run);
    }
    let mut found = Vec::new();
    for runs in by_key.into_values() {
        // Runs come in the order of their starts.
        let mut before: Vec<&Run> = Vec::new();
        for run in runs {
            before.retain(|earlier| expected.retains || end_of(earlier, expected) > run.started);
            let doubled = before
                .iter()
                .find(|earlier| !is_explained(earlier, run, expected));
            found.extend(doubled.map(|earlier| ((*earlier).clone(), run.clone())));
            before.push(run);
        }
    }
    found
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
    let folded = beside && pod_of(earlier) == pod_of(run);
    expected.switched || died || (trouble && !folded)
}

fn end_of(run: &Run, expected: &Expectation<'_>) -> u64 {
    run.ended
        .or_else(|| ended_by_death(run, expected))
        .unwrap_or(u64::MAX)
}

/// When the run's process was killed, if that was before its end.
fn ended_by_death(run: &Run, expected: &Expectation<'_>) -> Option<u64> {
    let killed = |(pid, _): &&(u32, u64)| Some(*pid) == pod_of(run);
    let (_, at) = expected.killed.iter().find(killed)?;
    run.ended.is_none().then_some(*at)
}

fn pod_of(run: &Run) -> Option<u32> {
    run.name.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Expectation<'_> = Expectation {
        longest: Duration::from_millis(1),
        trouble: &[],
        killed: &[],
        retains: false,
        switched: false,
    };

    fn run(name: &str, started: u64, ended: Option<u64>) -> Run {
        Run {
            name: name.to_owned(),
            key: "a".to_owned(),
            started,
            ended,
        }
    }

    fn answer(of_key: &str, run: &str, arrived: u64, answered: u64) -> Answer {
        Answer {
            key: "a".to_owned(),
            of_key: Some(of_key.to_owned()),
            run: Some(run.to_owned()),
            ended: Some(10),
            caller: None,
            error: None,
            arrived,
            answered,
        }
    }

    #[test]
    fn runs_beside_one_another_need_a_reason() {
        let beside = [run("1.0", 0, Some(10)), run("2.0", 5, Some(15))];
        let behind = [run("1.0", 0, Some(10)), run("2.0", 10, Some(15))];
        let found = |runs: &[Run], expected| check(runs, &[], &expected).unexplained.len();
        let (before, during) = ([20..=30], [3..=4]);
        let trouble = |spans| Expectation {
            trouble: spans,
            ..CALM
        };
        assert_eq!(found(&beside, CALM), 1);
        assert_eq!(found(&behind, CALM), 0);
        assert_eq!(found(&beside, trouble(&before)), 1);
        assert_eq!(found(&beside, trouble(&during)), 0);
        let kept = Expectation {
            retains: true,
            ..CALM
        };
        assert_eq!(found(&behind, kept), 1);
    }

    #[test]
    fn trouble_is_no_reason_within_one_process_and_death_is_one() {
        let folded = [run("1.0", 0, Some(10)), run("1.1", 5, Some(15))];
        let trouble = [0..=100];
        let expected = Expectation {
            trouble: &trouble,
            ..CALM
        };
        assert_eq!(check(&folded, &[], &expected).unexplained.len(), 1);
        let orphaned = [run("1.0", 0, None), run("2.0", 5, Some(15))];
        let killed = [(1, 4)];
        let expected = Expectation {
            killed: &killed,
            ..CALM
        };
        assert_eq!(check(&orphaned, &[], &CALM).unexplained.len(), 1);
        assert_eq!(check(&orphaned, &[], &expected).unexplained.len(), 0);
    }

    #[test]
    fn answers_are_held_against_the_ledger() {
        let runs = [run("1.0", 0, Some(10))];
        let answers = [
            answer("a", "1.0", 5, 12),
            answer("b", "1.0", 5, 12),
            answer("a", "7.7", 5, 12),
            answer("a", "1.0", 11, 12),
            answer("a", "1.0", 5, 2_000),
        ];
        let found = check(&runs, &answers, &CALM);
        let counts = (found.wrong.len(), found.early.len(), found.overlong.len());
        assert_eq!(counts, (2, 1, 1));
        assert_eq!((found.calls, found.longest_ms), (5, 1));
    }
}
