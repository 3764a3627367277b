//! Going straight through: when a namespace stops coalescing by itself, and when it tries again.
//!
//! It leaves slowly and comes back at once: three windows in a row must have lost, and one that has not is enough.
//! So a key that is called often never leaves, whatever a single window says; and what left goes past for 19 windows
//! of 20, until the one in between pays.

use std::ops::Sub;
use std::time::Duration;

/// What has happened in a namespace; or in a window, as the difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Calls that could be shared and came to an end.
    pub(crate) calls: f64,
    /// The seconds that they took.
    pub(crate) call_seconds: f64,
    /// Bodies that came to an end.
    pub(crate) bodies: f64,
    /// The seconds that they took.
    pub(crate) body_seconds: f64,
}

impl Sub for Sums {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            calls: self.calls - before.calls,
            call_seconds: self.call_seconds - before.call_seconds,
            bodies: self.bodies - before.bodies,
            body_seconds: self.body_seconds - before.body_seconds,
        }
    }
}

/// What a namespace does for the length of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// Its calls are shared; so many windows in a row have lost.
    Shares { losses: u8 },
    /// Its calls run their bodies.
    Past,
    /// Its calls are shared, to see whether that pays again.
    Tries,
}

/// Calls below which a window says nothing.
const FEW: f64 = 100.0;

/// The share of bodies that must be saved for coalescing to be of use, whatever it costs.
const OF_USE: f64 = 0.05;

/// Windows in a row that must have lost.
const LOSSES: u8 = 3;

/// Windows that go past before one that tries.
const PAST: u32 = 19;

/// How long a window is where values are fresh for `fresh_ttl`: what is stored must have time to be of use.
pub(crate) fn window(fresh_ttl: Duration) -> Duration {
    fresh_ttl.clamp(Duration::from_secs(10), Duration::from_mins(5))
}

impl Course {
    pub(crate) const START: Self = Self::Shares { losses: 0 };

    pub(crate) fn is_past(self) -> bool {
        self == Self::Past
    }

    /// How long it lasts before it is judged.
    pub(crate) fn lasts(self, window: Duration) -> Duration {
        match self {
            Self::Past => PAST * window,
            Self::Shares { .. } | Self::Tries => window,
        }
    }

    /// What comes behind it, if that can be said: `None` when too little has happened, and the window goes on.
    pub(crate) fn next(self, happened: Sums) -> Option<Self> {
        if self == Self::Past {
            return Some(Self::Tries);
        }
        if happened.calls < FEW {
            return None;
        }
        Some(match self {
            _ if !loses(happened) => Self::START,
            Self::Shares { losses } if losses + 1 < LOSSES => Self::Shares { losses: losses + 1 },
            _ => Self::Past,
        })
    }
}

/// Whether hardly a body was saved, and calls took longer than bodies.
fn loses(happened: Sums) -> bool {
    let saving = 1.0 - happened.bodies / happened.calls;
    let call = happened.call_seconds / happened.calls;
    let body = happened.body_seconds / happened.bodies.max(1.0);
    saving < OF_USE && call > body
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of this many calls of 12 ms, with bodies of 10 ms of which this share was saved.
    fn window_of(calls: f64, saving: f64) -> Sums {
        let bodies = calls * (1.0 - saving);
        Sums {
            calls,
            call_seconds: calls * 0.012,
            bodies,
            body_seconds: bodies * 0.01,
        }
    }

    #[test]
    fn it_leaves_after_three_windows_in_a_row_that_lost_and_not_before() {
        let (lost, paid) = (window_of(1_000.0, 0.0), window_of(1_000.0, 0.06));
        let mut course = Course::START;
        for window in [lost, lost, paid, lost, lost] {
            course = course.next(window).unwrap();
            assert!(!course.is_past());
        }
        assert_eq!(course.next(lost), Some(Course::Past));
    }

    #[test]
    fn it_comes_back_with_the_first_window_that_pays_and_otherwise_goes_past_again() {
        let tries = Course::Past.next(Sums::default()).unwrap();
        assert_eq!(tries, Course::Tries);
        let next = |saving| tries.next(window_of(1_000.0, saving));
        assert_eq!(next(0.0), Some(Course::Past));
        assert_eq!(next(0.5), Some(Course::START));
    }

    #[test]
    fn too_few_calls_say_nothing_and_a_window_that_saves_time_has_not_lost() {
        for course in [Course::START, Course::Tries] {
            assert_eq!(course.next(window_of(99.0, 0.0)), None);
        }
        // Stale answers: as many bodies as calls, and none of them waited for.
        let quick = Sums {
            call_seconds: 1.0,
            ..window_of(1_000.0, 0.0)
        };
        assert_eq!(Course::Tries.next(quick), Some(Course::START));
    }

    #[test]
    fn a_window_is_as_long_as_what_is_stored_is_fresh_within_reason() {
        let seconds = |seconds| window(Duration::from_secs(seconds)).as_secs();
        assert_eq!([0, 60, 3_600].map(seconds), [10, 60, 300]);
        assert_eq!(Course::Past.lasts(window(Duration::ZERO)).as_secs(), 190);
    }
}
