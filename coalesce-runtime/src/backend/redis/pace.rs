//! When a cluster is asked again who serves what. Decisions, without I/O.

use std::time::Duration;

use crate::words::clock::Instant;

/// While a node is not well, somebody is asked so often who serves its slots.
pub(super) const BEAT: Duration = Duration::from_millis(500);

/// Between two surveys that are wanted: at first, and at most while nobody answers.
const RESTS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// What a survey came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nobody answered.
    Nobody,
    /// Nodes contradict each other.
    Dispute,
    /// What was known.
    Same,
    News,
}

/// When the next survey is due. Those that bring nothing new come ever more rarely.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) wanted: bool,
    rest: Duration,
    last: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            wanted: true,
            rest: Duration::ZERO,
            last: None,
        }
    }
}

impl Pace {
    /// How long until the next one; none while it is not known to be needed.
    pub(super) fn pause(&mut self, well: bool, now: Instant) -> Option<Duration> {
        let rest = match (self.wanted, well) {
            (true, _) => self.rest,
            (false, false) => BEAT,
            (false, true) => {
                self.rest = RESTS[0];
                return None;
            }
        };
        let due = self.last.map_or(now, |last| last + rest);
        Some(due.saturating_duration_since(now))
    }

    /// A survey has ended. `jitter` is around 1, and another in each process.
    pub(super) fn surveyed(&mut self, found: Found, now: Instant, jitter: f64) {
        let longest = match found {
            Found::Nobody => RESTS[1],
            Found::Dispute | Found::Same => BEAT,
            Found::News => RESTS[0],
        };
        self.wanted = matches!(found, Found::Nobody | Found::Dispute);
        self.rest = (2 * self.rest).clamp(RESTS[0], longest).mul_f64(jitter);
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::clock::now;

    const MS: Duration = Duration::from_millis(1);

    /// The rests behind surveys that were rung for and found this one after the other.
    fn rests(found: &[Found]) -> Vec<u128> {
        let (mut pace, start) = (Pace::default(), now());
        let rest = |found: &Found| {
            pace.surveyed(*found, start, 1.0);
            pace.wanted = true;
            pace.pause(true, start).unwrap().as_millis()
        };
        found.iter().map(rest).collect()
    }

    #[test]
    fn surveys_that_bring_nothing_new_come_ever_more_rarely() {
        use Found::{Dispute, News, Nobody, Same};
        assert_eq!(rests(&[Nobody; 6]), [100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(rests(&[Same; 5]), [100, 200, 400, 500, 500]);
        assert_eq!(rests(&[Dispute, Same, News, Same]), [100, 200, 100, 200]);
        assert_eq!(rests(&[Nobody, Nobody, Nobody, Nobody, Same])[4], 500);
    }

    #[test]
    fn the_first_survey_is_due_at_once_and_the_next_when_there_is_a_reason() {
        let (mut pace, start) = (Pace::default(), now());
        assert_eq!(pace.pause(true, start), Some(Duration::ZERO));
        pace.surveyed(Found::News, start, 1.0);
        assert_eq!(pace.pause(true, start), None);
        let later = start + 200 * MS;
        assert_eq!(pace.pause(false, later), Some(300 * MS));
        pace.wanted = true;
        assert_eq!(pace.pause(true, later), Some(Duration::ZERO));
        for found in [Found::Nobody, Found::Dispute] {
            pace.surveyed(found, later, 1.0);
            assert!(pace.pause(true, later).is_some(), "{found:?}");
        }
    }

    #[test]
    fn a_calm_time_makes_the_next_survey_come_soon_and_no_two_processes_go_in_step() {
        let (mut pace, start) = (Pace::default(), now());
        for _ in 0..9 {
            pace.surveyed(Found::Same, start, 1.0);
        }
        assert_eq!(pace.pause(true, start), None);
        pace.wanted = true;
        assert_eq!(pace.pause(true, start), Some(100 * MS));
        pace.surveyed(Found::Nobody, start, 1.5);
        assert_eq!(pace.pause(true, start), Some(300 * MS));
    }
}
