//! Takeovers: runs that died with their processes, whether anybody waited for them, and who ran next.

use std::collections::HashMap;

use super::doubles::ended_by_death;
use super::{Expectation, pid_of};
use crate::ledger::Run;
use crate::orders::Answer;

/// A run that died with its process.
#[derive(Debug)]
struct Death {
    pid: Option<u32>,
    at: u64,
    /// When another run of its key began behind it.
    next: Option<u64>,
    is_waited_for: bool,
}

/// Those of each key.
#[derive(Debug)]
pub(super) struct Deaths<'a>(HashMap<&'a str, Vec<Death>>);

impl<'a> Deaths<'a> {
    /// Runs come by their keys, in the order of their starts.
    pub(super) fn of(by_key: &HashMap<&'a str, Vec<&Run>>, expected: &Expectation<'_>) -> Self {
        let deaths = by_key.iter().map(|(key, runs)| {
            // Nobody waits for who went past the coordinator, nor is told its outcome.
            let flights = runs.iter().filter(|run| !run.is_bypass());
            let death = |run: &&Run| {
                let at = ended_by_death(run, expected)?;
                let mut started = flights.clone().map(|run| run.started);
                Some(Death {
                    pid: pid_of(&run.name),
                    at,
                    next: started.find(|started| *started >= at),
                    is_waited_for: false,
                })
            };
            (*key, flights.clone().filter_map(death).collect())
        });
        Self(deaths.collect())
    }

    /// One more answer, and the run that it is of: whoever had called before another process died, and was answered
    /// behind that and not by a run from before it, has waited.
    pub(super) fn take(&mut self, answer: &Answer, maker: Option<&Run>) {
        let deaths = self.0.get_mut(&*answer.key).into_iter().flatten();
        for death in deaths {
            let during = (answer.arrived..answer.answered).contains(&death.at);
            let elsewhere = Some(answer.pid) != death.pid;
            let not_from_before = maker.is_none_or(|run| run.started >= death.at);
            death.is_waited_for |= during && elsewhere && not_from_before;
        }
    }

    /// For how many of them somebody waited, and how long it took until another run began, in milliseconds.
    pub(super) fn takeovers(&self) -> (usize, Vec<u64>) {
        let deaths = self.0.values().flatten();
        let missed = deaths.filter(|death| death.is_waited_for);
        let took = |death: &Death| Some((death.next? - death.at) / 1_000);
        (missed.clone().count(), missed.filter_map(took).collect())
    }
}
