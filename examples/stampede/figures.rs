//! The figures of one run, and which promises they break.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde::Serialize;

use crate::ledger::Line;
use crate::monitor::Traffic;
use crate::options::Options;
use crate::shop::Stamp;
use crate::watch::{Kill, Watch};
use crate::wire::{Answer, Outcome};

/// One run in numbers; all times in milliseconds.
#[derive(Debug, Serialize)]
pub struct Figures {
    pub backend: &'static str,
    pub pods: u64,
    pub callers: u64,
    pub executions: u64,
    pub answered: u64,
    pub errors: u64,
    pub wrong_values: u64,
    /// Unknown where the Redis is not one plain server.
    pub state_writes: Option<u64>,
    pub redis_commands: Option<u64>,
    pub wall_ms: u64,
    pub wait_p50_ms: u64,
    pub wait_p99_ms: u64,
    pub wait_max_ms: u64,
    pub takeovers: u64,
    /// What is behind the numbers, for people.
    #[serde(skip)]
    pub details: Details,
}

#[derive(Debug, Default)]
pub struct Details {
    /// Callers whose pod lived.
    pub expected_answers: u64,
    /// Bodies that died with their pod.
    pub killed_executions: u64,
    /// From the kill to the start of the body that replaced the killed one.
    pub takeover_ms: Option<u64>,
    pub killed_pod: Option<usize>,
    pub commands: BTreeMap<String, u64>,
}

/// What a run has gathered.
pub struct Gathered {
    pub backend: &'static str,
    pub run: String,
    pub watched: Watch,
    pub traffic: Option<Traffic>,
    pub wall: Duration,
}

impl Figures {
    pub fn of(options: &Options, gathered: &Gathered) -> Self {
        let mut waits: Vec<_> = gathered.answers().map(|it| it.waited_us).collect();
        waits.sort_unstable();
        let traffic = gathered.traffic.as_ref();
        let count = |of: &dyn Fn(&Answer) -> bool| {
            gathered.answers().filter(|answer| of(answer)).count() as u64
        };
        Self {
            backend: gathered.backend,
            pods: options.pods,
            callers: options.all_callers(),
            executions: gathered.watched.ledger.starts().count() as u64,
            answered: count(&|answer| is_expected(answer, options.fail)),
            errors: count(&|answer| !matches!(answer.outcome, Outcome::Value(_))),
            wrong_values: gathered.wrong_values(),
            state_writes: traffic.map(|traffic| traffic.state_writes),
            redis_commands: traffic.map(Traffic::total),
            wall_ms: milliseconds(gathered.wall.as_micros()),
            wait_p50_ms: percentile(&waits, 50),
            wait_p99_ms: percentile(&waits, 99),
            wait_max_ms: percentile(&waits, 100),
            takeovers: gathered.watched.takeovers,
            details: Details::of(options, gathered),
        }
    }

    /// What the run without coalescing has to show, or the comparison means nothing.
    pub fn broken_without(&self, options: &Options) -> Vec<String> {
        let mut broken = self.broken_anyway(options);
        // A killed pod may have started only some of its bodies.
        let most = self.callers;
        let least = self.details.expected_answers;
        if !(least..=most).contains(&self.executions) {
            broken.push(format!(
                "{} executions instead of one per caller",
                self.executions
            ));
        }
        broken
    }

    /// The promises of coalescing that were not kept.
    pub fn broken_with(&self, options: &Options) -> Vec<String> {
        let mut broken = self.broken_anyway(options);
        let expected = options.keys.min(self.callers) + self.details.killed_executions;
        if self.executions != expected {
            broken.push(format!(
                "{} executions instead of {expected}",
                self.executions
            ));
        }
        if options.kill && self.details.killed_executions == 0 {
            broken.push("no body was killed: it had ended before".to_owned());
        }
        let written = self.executions - self.details.killed_executions.min(self.executions);
        if let Some(writes) = self.state_writes
            && writes != written
        {
            broken.push(format!("{writes} state writes instead of {written}"));
        }
        broken
    }

    fn broken_anyway(&self, options: &Options) -> Vec<String> {
        let expected = self.details.expected_answers;
        let errors = if options.fail { expected } else { 0 };
        let mut broken = Vec::new();
        if self.answered != expected {
            broken.push(format!("{} of {expected} callers answered", self.answered));
        }
        if self.errors != errors {
            broken.push(format!("{} errors instead of {errors}", self.errors));
        }
        if self.wrong_values > 0 {
            broken.push(format!("{} wrong values", self.wrong_values));
        }
        broken
    }
}

impl Gathered {
    fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.watched.answers.iter().map(|(_, answer)| answer)
    }

    /// Bodies that died with their pod.
    fn dead(&self) -> Vec<&Line> {
        let unfinished = |kill: Kill| self.watched.ledger.unfinished(kill.pod).collect();
        self.watched.kill.map_or_else(Vec::new, unfinished)
    }

    /// Outcomes of another key, of another run, or that no body in the ledger made.
    fn wrong_values(&self) -> u64 {
        let starts = self.watched.ledger.starts();
        let made: HashSet<&Stamp> = starts.map(|line| &line.stamp).collect();
        let is_wrong = |answer: &&Answer| match &answer.outcome {
            Outcome::Value(stamp) | Outcome::Down(stamp) => {
                stamp.order != answer.asked || stamp.run != self.run || !made.contains(stamp)
            }
            Outcome::Stray(_) => false,
        };
        self.answers().filter(is_wrong).count() as u64
    }

    /// From the kill to the start of the last body that replaced a killed one.
    fn takeover_ms(&self) -> Option<u64> {
        let (kill, dead) = (self.watched.kill?, self.dead());
        let replaces = |line: &&Line| {
            let order = line.stamp.order;
            line.at > kill.at && dead.iter().any(|dead| dead.stamp.order == order)
        };
        let starts = self.watched.ledger.starts().filter(replaces);
        let last = starts.map(|line| line.at).max()?;
        Some(milliseconds((last - kill.at).into()))
    }
}

impl Details {
    fn of(options: &Options, gathered: &Gathered) -> Self {
        let kill = gathered.watched.kill;
        let commands = gathered.traffic.as_ref().map(|it| &it.commands);
        Self {
            expected_answers: options.all_callers() - kill.map_or(0, |_| options.callers),
            killed_executions: gathered.dead().len() as u64,
            killed_pod: kill.map(|kill| kill.pod),
            takeover_ms: gathered.takeover_ms(),
            commands: commands.cloned().unwrap_or_default(),
        }
    }
}

fn is_expected(answer: &Answer, fail: bool) -> bool {
    match answer.outcome {
        Outcome::Value(_) => !fail,
        Outcome::Down(_) => fail,
        Outcome::Stray(_) => false,
    }
}

/// The smallest wait that so many percent of the callers did not exceed.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted
        .get(rank - 1)
        .map_or(0, |&wait| milliseconds(wait.into()))
}

fn milliseconds(microseconds: u128) -> u64 {
    u64::try_from((microseconds + 500) / 1_000).unwrap_or(u64::MAX)
}
