//! A few callers in each pod call one key at once: what that takes is counted.

use coalesce_rig::{Burst, Run, Site, Topology, now_micros};

use crate::scene::Scene;

impl<T: Topology> Scene<T> {
    /// Three callers in each pod call a new key at once: how many runs that takes.
    pub(crate) fn runs_of_a_burst(&mut self, site: Site) -> usize {
        self.runs_of_a_burst_of(site, 50)
    }

    fn runs_of_a_burst_of(&mut self, site: Site, body_ms: u64) -> usize {
        let key = self.new_key();
        let burst = Burst {
            keys: vec![key.clone()],
            body_ms,
            ..Burst::of(site, 3)
        };
        let answers = self.burst(&burst).to_vec();
        let runs = self.ledger.runs();
        let runs: Vec<_> = runs.iter().filter(|run| run.key == key).collect();
        // A pod that heard of the burst when a run of it had ended is none of that run's callers. In trouble each run counts.
        let calm = self.trouble_since.is_none() && matches!(site, Site::InFlight);
        let came_late = |place: &usize| {
            let called = answers
                .iter()
                .filter(|a| a.run.as_ref() == Some(&runs[*place].name));
            let first = called.map(|answer| answer.arrived).min().unwrap_or(0);
            let ended = |run: &&Run| run.ended.is_some_and(|end| end < first);
            calm && runs[..*place].iter().any(ended)
        };
        (0..runs.len()).filter(|place| !came_late(place)).count()
    }

    /// A burst is one run, unless the machine was too busy for a deadline: then the next may be.
    pub(crate) fn shares_a_run(&mut self, site: Site) {
        self.shares_a_run_of(site, 50);
    }

    /// The same, with bodies of so many milliseconds.
    pub(crate) fn shares_a_run_of(&mut self, site: Site, body_ms: u64) {
        for _ in 0..5 {
            let (began, unanswered) = (now_micros(), self.unanswered());
            let runs = self.runs_of_a_burst_of(site, body_ms);
            if runs == 1 {
                return;
            }
            assert_ne!(self.unanswered(), unanswered, "{runs} runs");
            self.was_too_busy(began);
        }
        panic!("no burst was one run");
    }
}
