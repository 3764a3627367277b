//! The checker: holds what callers were answered against what bodies did, and says what cannot be explained.

mod accounts;
mod bypasses;
mod doubles;
#[cfg(test)]
mod doubles_tests;
mod figures;
mod losses;
#[cfg(test)]
mod notes_tests;
mod takeovers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::ops::RangeInclusive;
use std::time::Duration;

pub use self::accounts::{Moments, Periods, busy_times};
pub use self::doubles::Reason;
use self::doubles::{Doubles, passes_over};
use self::figures::added;
use self::losses::{Loss, Losses};
use self::takeovers::Deaths;
use crate::ledger::Run;
use crate::orders::Answer;

/// What is to be expected of a test, whatever was done to Redis in it. Moments are in microseconds since
/// the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// The longest that any call may take.
    pub longest: Duration,
    /// When Redis was in trouble: processes may run a key beside one another.
    pub trouble: &'a [RangeInclusive<u64>],
    /// When it was not any more, and a process may not have noticed.
    pub aftermath: &'a [RangeInclusive<u64>],
    /// When the machine was too busy for a deadline.
    pub busy: &'a [RangeInclusive<u64>],
    /// Processes that were killed, and when: their runs ended then.
    pub killed: &'a [(u32, u64)],
    /// Processes that stood still, and when: nobody can blame them for that time.
    pub stopped: &'a Periods,
    /// When processes asked Redis in vain. Nothing but a trouble explains a double of processes that did not.
    pub in_vain: &'a Moments,
    /// How old a value may be when its caller arrives; nothing where nothing is retained.
    pub age: Duration,
    /// Keys of which nothing is retained all the same.
    pub passing: &'a [String],
    /// How long a run holds its key at most: behind that another may begin.
    pub pending: Duration,
    /// When the kill switch was off: calls may have gone past the coordinator.
    pub switched: &'a [RangeInclusive<u64>],
    /// Processes that were told to end, and when: so may calls that came to them behind that.
    pub ending: &'a [(u32, u64)],
    /// When callers of processes went away: their calls have no value.
    pub departures: &'a Periods,
}

/// A stored value is as old as the server's clock says, and answers take their way.
const SLACK: Duration = Duration::from_millis(300);

/// A lease of three seconds, one more to notice its end, and one for a busy machine.
pub(crate) const LONGEST_TAKEOVER_MS: u64 = 5_000;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Calls.
    pub calls: usize,
    /// Runs.
    pub runs: usize,
    /// The longest call, in milliseconds.
    pub longest_ms: u64,
    /// The most that a call took beside bodies of its key, in milliseconds; those are left out whose leader
    /// died or stood still.
    pub added_ms: u64,
    /// What each call that was under way when Redis was in trouble took beside the bodies of its own process, and the one
    /// that made its value.
    pub added_in_trouble_ms: Vec<u64>,
    /// Answers without a value, and without a reason for it in the ledger.
    pub errors: Vec<Answer>,
    /// Calls whose callers had gone away.
    pub departed: usize,
    /// Calls whose own body panicked.
    pub panicked: usize,
    /// Runs of calls that went past the coordinator.
    pub bypasses: usize,
    /// Values of another key, or of a run that the ledger does not know.
    pub wrong: Vec<Answer>,
    /// Values that were too old when their caller arrived.
    pub stale: Vec<Answer>,
    /// Answers of a run that began after another of the key had begun and ended, both of them behind the call: it was not
    /// told of the first.
    pub passed_over: Vec<String>,
    /// Runs that died with their processes while a caller in another one waited.
    pub missed: usize,
    /// How long it took until another run of the key began, in milliseconds, for each of those behind which one did.
    pub takeovers: Vec<u64>,
    /// Calls that took longer than they may, and which runs of their key ended meanwhile.
    pub overlong: Vec<String>,
    /// Runs beside a run of the same key, by the weakest reason that each needed.
    pub explained: BTreeMap<Reason, u64>,
    /// Runs that began when Redis was in no trouble.
    pub calm: usize,
    /// Those of them that had nothing of their own to explain them beside another run.
    pub strict: usize,
    /// Runs beside a run of the same key, without a reason.
    pub unexplained: Vec<(Run, Run)>,
}

/// Checks answers against runs.
pub fn check(runs: &[Run], answers: &[Answer], expected: &Expectation<'_>) -> Findings {
    let mut checker = Checker::new(runs, *expected);
    for answer in answers {
        checker.take(answer);
    }
    checker.findings()
}

/// Checks answers one by one, when there are too many to be held at once.
#[derive(Debug)]
pub struct Checker<'a> {
    runs: HashMap<&'a str, Vec<&'a Run>>,
    known: HashMap<&'a str, &'a Run>,
    deaths: Deaths<'a>,
    losses: Losses<'a>,
    expected: Expectation<'a>,
    findings: Findings,
}

impl<'a> Checker<'a> {
    /// A checker of answers that these runs are behind; they come in the order of their starts.
    pub fn new(runs: &'a [Run], expected: Expectation<'a>) -> Self {
        let doubles = Doubles::of(runs, &expected);
        let mut by_key = HashMap::<_, Vec<_>>::new();
        for run in runs {
            by_key.entry(&*run.key).or_default().push(run);
        }
        Self {
            deaths: Deaths::of(&by_key, &expected),
            losses: Losses::of(runs),
            runs: by_key,
            known: runs.iter().map(|run| (&*run.name, run)).collect(),
            expected,
            findings: Findings {
                runs: runs.len(),
                bypasses: runs.iter().filter(|run| run.is_bypass()).count(),
                explained: doubles.explained,
                unexplained: doubles.unexplained,
                calm: doubles.calm,
                strict: doubles.strict,
                ..Findings::default()
            },
        }
    }

    /// Checks one more answer.
    pub fn take(&mut self, answer: &Answer) {
        let findings = &mut self.findings;
        let empty = Vec::new();
        let runs = self.runs.get(&*answer.key).unwrap_or(&empty);
        let took = answer.answered.saturating_sub(answer.arrived);
        findings.calls += 1;
        findings.longest_ms = findings.longest_ms.max(took / 1_000);
        // Most calls are too short to hold a standstill.
        let stood = match took {
            0..50_000 => 0,
            _ => self.expected.stood_still(answer),
        };
        if took > micros(self.expected.longest) + stood {
            findings.overlong.push(story(answer, runs));
        } else {
            let beside_all = added(answer, runs, &self.expected, |_| true).unwrap_or(0);
            findings.added_ms = findings.added_ms.max(beside_all / 1_000);
            if self.expected.is_in_trouble(answer) {
                // Others run it as well then, and the call waits for none of those.
                let is_its = |run: &Run| {
                    pid_of(&run.name) == Some(answer.pid) || Some(&run.name) == answer.run.as_ref()
                };
                let beside_its = added(answer, runs, &self.expected, is_its);
                let beside_its = beside_its.map(|added| added / 1_000);
                findings.added_in_trouble_ms.extend(beside_its);
            }
        }
        let maker = answer.run.as_deref().and_then(|run| self.known.get(run));
        let maker = maker.filter(|run| run.key == answer.key).copied();
        self.deaths.take(answer, maker);
        let Some(of_key) = &answer.of_key else {
            match self.losses.reason(answer, &self.expected) {
                Some(Loss::Departed) => findings.departed += 1,
                Some(Loss::Panicked) => findings.panicked += 1,
                None => findings.errors.push(answer.clone()),
            }
            return;
        };
        match maker {
            Some(maker) if *of_key == answer.key => {
                if passes_over(answer, maker, runs, &self.expected) {
                    findings.passed_over.push(story(answer, runs));
                }
            }
            _ => findings.wrong.push(answer.clone()),
        }
        if self.expected.is_stale(answer) {
            findings.stale.push(answer.clone());
        }
    }

    /// What was found so far.
    pub fn findings(self) -> Findings {
        let (missed, takeovers) = self.deaths.takeovers();
        Findings {
            missed,
            takeovers,
            ..self.findings
        }
    }
}

impl Expectation<'_> {
    /// For how long the caller's process stood still meanwhile, or the one that made its value.
    fn stood_still(&self, answer: &Answer) -> u64 {
        let (from, to) = (answer.arrived, answer.answered);
        let maker = answer.run.as_deref().and_then(pid_of);
        let of = |pid: Option<u32>| -> u64 {
            let spans = self.stopped.of(pid).iter();
            spans
                .map(|span| {
                    (*span.end())
                        .min(to)
                        .saturating_sub((*span.start()).max(from))
                })
                .sum()
        };
        let own = Some(answer.pid);
        of(own) + if maker == own { 0 } else { of(maker) }
    }

    fn is_in_trouble(&self, answer: &Answer) -> bool {
        let mut trouble = self.trouble.iter();
        trouble.any(|span| *span.start() <= answer.answered && answer.arrived <= *span.end())
    }

    fn age_of(&self, key: &str) -> Duration {
        let passes = !self.age.is_zero() && self.passing.iter().any(|passing| passing == key);
        if passes { Duration::ZERO } else { self.age }
    }

    fn is_stale(&self, answer: &Answer) -> bool {
        let (Some(ended), Some(run)) = (answer.ended, &answer.run) else {
            return false;
        };
        let age = self.age_of(&answer.key);
        let slack = if age.is_zero() { Duration::ZERO } else { SLACK };
        let too_old = ended + micros(age + slack) < answer.arrived;
        // Who stands still between the end of its body and the moment it is noticed ends later than it says.
        let stood =
            |span: &RangeInclusive<u64>| *span.start() <= answer.arrived && ended <= *span.end();
        too_old && !self.stopped.of(pid_of(run)).iter().any(stood)
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX / 4)
}

/// The process of a run.
pub(crate) fn pid_of(run: &str) -> Option<u32> {
    run.split('.').next()?.parse().ok()
}

/// A call and the runs of its key beside it, in milliseconds from the call on.
fn story(answer: &Answer, runs: &[&Run]) -> String {
    let since = |at: u64| at.cast_signed().wrapping_sub(answer.arrived.cast_signed()) / 1_000;
    let mut story = format!(
        "answered after {} ms by {:?}; runs:",
        since(answer.answered),
        answer.run,
    );
    let beside = |run: &&&Run| {
        let ended = run.ended.map_or(0, since);
        ended > -300 && run.started < answer.answered
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
            stale,
            overlong,
            passed_over,
            unexplained,
            missed,
            takeovers,
            ..
        } = self;
        assert_eq!(
            takeovers.len(),
            *missed,
            "of the dead leaders were replaced"
        );
        // Five times the second behind the lease: up to twelve processes of a debug build share two cores.
        let late = takeovers.iter().filter(|took| **took > 8_000);
        assert_few(
            "takeovers that came too late, in ms",
            &late.collect::<Vec<_>>(),
        );
        assert_few("values of another key", wrong);
        assert_few("calls without a value", errors);
        assert_few("values that are too old", stale);
        assert_few("calls that took too long", overlong);
        assert_few("answers of a later run than need be", passed_over);
        assert_few("runs without a reason", unexplained);
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            calls,
            runs,
            longest_ms,
            added_ms,
            explained,
            calm,
            strict,
            ..
        } = self;
        write!(
            f,
            "{calls} calls, {runs} runs, {strict} of {calm} calm ones without an excuse, explained by {explained:?}, longest {longest_ms} ms, {added_ms} ms added"
        )
    }
}

fn assert_few<T: fmt::Debug>(what: &str, found: &[T]) {
    let shown = &found[..found.len().min(3)];
    assert!(found.is_empty(), "{} {what}: {shown:?}", found.len());
}
