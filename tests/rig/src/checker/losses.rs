//! Losses: calls without a value that have a reason of their own, which their process has written to the ledger.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::{Expectation, pid_of};
use crate::ledger::{Note, Run};
use crate::orders::Answer;

/// Panics that no caller has met yet: by key, in which process and when.
#[derive(Debug)]
pub(super) struct Losses<'a>(HashMap<&'a str, Vec<(u32, u64)>>);

/// Why a call has no value.
pub(super) enum Loss {
    /// Its caller had gone away.
    Departed,
    /// Its own body had panicked.
    Panicked,
}

impl<'a> Losses<'a> {
    pub(super) fn of(runs: &'a [Run]) -> Self {
        let mut panics = HashMap::<_, Vec<_>>::new();
        for run in runs.iter().filter(|run| run.has(Note::Panicked)) {
            if let (Some(pid), Some(at)) = (pid_of(&run.name), run.ended) {
                panics.entry(&*run.key).or_default().push((pid, at));
            }
        }
        Self(panics)
    }

    /// Why this one has none, if there is a reason. A panic is the leading caller's own, so each is the reason of one.
    pub(super) fn reason(&mut self, answer: &Answer, expected: &Expectation<'_>) -> Option<Loss> {
        let meanwhile = answer.arrived..=answer.answered;
        let during = |span: &RangeInclusive<u64>| {
            *span.start() <= answer.answered && answer.arrived <= *span.end()
        };
        match answer.error.as_deref() {
            Some("dropped") => {
                let mut departures = expected.departures.of(Some(answer.pid)).iter();
                departures.any(during).then_some(Loss::Departed)
            }
            Some("panicked") => {
                let panics = self.0.get_mut(&*answer.key)?;
                let own = |(pid, at): &(u32, u64)| *pid == answer.pid && meanwhile.contains(at);
                let place = panics.iter().position(own)?;
                panics.swap_remove(place);
                Some(Loss::Panicked)
            }
            _ => None,
        }
    }
}
