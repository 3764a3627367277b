//! The watch over one run: what pods report, what the ledger says, and when to kill the leading pod.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::ledger::{Reader, now};
use crate::options::Options;
use crate::wire::{Answer, Report};

pub struct Watch {
    pub ledger: Reader,
    pub answers: Vec<(usize, Answer)>,
    pub takeovers: u64,
    pub last_answer: Instant,
    pub kill: Option<Kill>,
    /// From the start of the first body to the kill, if one is wanted.
    kill_after: Option<Duration>,
    /// Pods that will not report any more.
    done: BTreeSet<usize>,
    pods: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Kill {
    pub pod: usize,
    /// Microseconds since 1970.
    pub at: u64,
}

impl Watch {
    pub fn of(options: &Options, ledger: Reader) -> Self {
        Self {
            ledger,
            answers: Vec::new(),
            takeovers: 0,
            last_answer: Instant::now(),
            kill: None,
            kill_after: options
                .kill
                .then(|| Duration::from_millis(options.body_ms) / 2),
            done: BTreeSet::new(),
            pods: options.pods,
        }
    }

    /// Takes in a report; `None` says that the pod has gone.
    pub fn hear(&mut self, pod: usize, report: Option<Report>) {
        match report {
            Some(Report::Ready) => {}
            Some(Report::Answer(answer)) => {
                self.last_answer = Instant::now();
                self.answers.push((pod, answer));
            }
            Some(Report::Idle { takeovers }) => {
                self.takeovers += takeovers;
                self.done.insert(pod);
            }
            None => {
                self.done.insert(pod);
            }
        }
    }

    /// Looks at the ledger; says which pod is to be killed now, if one is.
    pub fn look(&mut self) -> io::Result<Option<usize>> {
        self.ledger.catch_up()?;
        let (Some(after), None) = (self.kill_after, self.kill) else {
            return Ok(None);
        };
        let Some(first) = self.ledger.lines.first() else {
            return Ok(None);
        };
        let at = now();
        if u128::from(at.saturating_sub(first.at)) < after.as_micros() {
            return Ok(None);
        }
        self.kill = Some(Kill { pod: first.pod, at });
        Ok(Some(first.pod))
    }

    pub fn is_over(&self) -> bool {
        self.done.len() as u64 >= self.pods
    }

    /// Everything that was seen, without the answers of a pod that was killed.
    pub fn finish(mut self) -> io::Result<Self> {
        self.ledger.catch_up()?;
        if let Some(kill) = self.kill {
            self.answers.retain(|(pod, _)| *pod != kill.pod);
        }
        Ok(self)
    }
}
