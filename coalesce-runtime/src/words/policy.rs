//! Policy: the validated settings of one call site. An invalid one cannot be built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The four clocks of a call site, in a relation that makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    fresh: Duration,
    stale: Duration,
    pending: Duration,
    wait: Option<Duration>,
}

/// Why four durations are not four clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockProblem {
    /// `stale_ttl` is below `fresh_ttl`.
    StaleBelowFresh {
        /// The fresh time.
        fresh: Duration,
        /// The stale time.
        stale: Duration,
    },
    /// `wait_timeout` is not above `pending_ttl`.
    WaitNotAbovePending {
        /// The longest wait.
        wait: Duration,
        /// The longest flight.
        pending: Duration,
    },
    /// A clock is zero where zero makes no sense, below a millisecond, or above a year.
    OutOfRange {
        /// The option's name.
        clock: &'static str,
        /// Its value.
        value: Duration,
    },
}

impl ClockProblem {
    /// The option to change.
    pub const fn option(&self) -> &'static str {
        match self {
            Self::StaleBelowFresh { .. } => "stale_ttl",
            Self::WaitNotAbovePending { .. } => "wait_timeout",
            Self::OutOfRange { clock, .. } => clock,
        }
    }
}

impl fmt::Display for ClockProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleBelowFresh { fresh, stale } => write!(
                f,
                "stale_ttl ({stale:?}) must not be below fresh_ttl ({fresh:?}): it is the value's whole life"
            ),
            Self::WaitNotAbovePending { wait, pending } => write!(
                f,
                "wait_timeout ({wait:?}) must be above pending_ttl ({pending:?}): a follower that gives up \
                 first can never take over after a crash"
            ),
            Self::OutOfRange { clock, value } => {
                write!(
                    f,
                    "{clock} is {value:?}: it must be at least 1ms and at most 365 days"
                )
            }
        }
    }
}

impl std::error::Error for ClockProblem {}

impl Clocks {
    /// The longest any clock may run; what is longer was meant otherwise.
    pub const MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Checks four durations. `stale` of `None` means the same as `fresh`; `wait` of `None` waits
    /// as long as it takes.
    ///
    /// # Errors
    ///
    /// The first relation that does not hold.
    pub fn new(
        fresh: Duration,
        stale: Option<Duration>,
        pending: Duration,
        wait: Option<Duration>,
    ) -> Result<Self, ClockProblem> {
        let stale = stale.unwrap_or(fresh);
        for (clock, value, may_be_zero) in [
            ("fresh_ttl", fresh, true),
            ("stale_ttl", stale, true),
            ("pending_ttl", pending, false),
            ("wait_timeout", wait.unwrap_or(pending), false),
        ] {
            let zero = value.is_zero() && may_be_zero;
            if !zero && (value < Duration::from_millis(1) || value > Self::MAX) {
                return Err(ClockProblem::OutOfRange { clock, value });
            }
        }
        if stale < fresh {
            return Err(ClockProblem::StaleBelowFresh { fresh, stale });
        }
        if let Some(wait) = wait.filter(|wait| *wait <= pending) {
            return Err(ClockProblem::WaitNotAbovePending { wait, pending });
        }
        Ok(Self {
            fresh,
            stale,
            pending,
            wait,
        })
    }

    /// Below this age a stored value is served and nothing else happens.
    pub const fn fresh(&self) -> Duration {
        self.fresh
    }

    /// Below this age a stored value is served while one refresh runs; its whole life in Redis.
    pub const fn stale(&self) -> Duration {
        self.stale
    }

    /// The longest one flight may hold its key.
    pub const fn pending(&self) -> Duration {
        self.pending
    }

    /// The longest a follower waits; `None` waits as long as it takes.
    pub const fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// How long the first body has that a caller runs behind a flight it gave up, before another is run for those who wait.
    ///
    /// It is no less than what they have waited before: their body may be slower than `pending` says, and those who give
    /// up together must not all run it.
    pub(crate) fn fallback(&self) -> Duration {
        const SLACK: Duration = Duration::from_secs(1);
        self.wait.unwrap_or(self.pending) + SLACK
    }

    /// Whether values outlive their flight at all.
    pub const fn retains(&self) -> bool {
        !self.stale.is_zero()
    }
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            fresh: Duration::ZERO,
            stale: Duration::ZERO,
            pending: Duration::from_secs(30),
            wait: Some(Duration::from_secs(45)),
        }
    }
}

/// What the followers of a failed flight do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// They get the same error; none of them runs the body.
    #[default]
    Share,
    /// They elect a new leader once: exactly one runs the body, the rest follow it.
    Retry,
}

/// What a call does when the coordinator gives no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnRedisError {
    /// The body runs, folded to one run per process and key.
    #[default]
    Run,
    /// The caller gets [`Error::Unavailable`](crate::Error::Unavailable).
    Fail,
}

/// What a call does when a header of its key, or the whole request scope, is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingHeader {
    /// The body runs as if the attribute were not there.
    #[default]
    Bypass,
    /// The caller gets [`Error::MissingHeader`](crate::Error::MissingHeader).
    Error,
    /// The absence itself is part of the key, different from an empty value.
    Empty,
}

/// Everything a call needs to know about its call site, checked.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) version: Option<u32>,
    pub(crate) clocks: Clocks,
    pub(crate) on_error: OnError,
    pub(crate) keep_errors: Duration,
    pub(crate) on_redis_error: OnRedisError,
    pub(crate) max_payload: usize,
    pub(crate) header_keys: Vec<Arc<str>>,
    pub(crate) missing_header: MissingHeader,
    pub(crate) enabled: bool,
    pub(crate) self_bypass: bool,
}

impl Policy {
    /// Above this many encoded bytes nothing is stored, unless `max_payload` says otherwise.
    pub const DEFAULT_MAX_PAYLOAD: usize = 1024 * 1024;

    /// The highest ceiling. Redis takes 512 MiB at once, header included, and cuts a connection that sends more.
    pub const MAX_PAYLOAD: usize = 511 * 1024 * 1024;

    /// The default settings with these clocks.
    pub fn new(clocks: Clocks) -> Self {
        Self {
            clocks,
            ..Self::default()
        }
    }

    /// The same policy with another answer to a failed flight.
    #[must_use]
    pub fn on_error(self, on_error: OnError) -> Self {
        Self { on_error, ..self }
    }

    /// The same policy with another answer to a coordinator that does not answer.
    #[must_use]
    pub fn on_redis_error(self, on_redis_error: OnRedisError) -> Self {
        Self {
            on_redis_error,
            ..self
        }
    }

    /// The same policy, serving a stored error to later callers for this long: [`Clocks::MAX`] at most.
    #[must_use]
    pub fn keep_errors(self, keep_errors: Duration) -> Self {
        Self {
            keep_errors: keep_errors.min(Clocks::MAX),
            ..self
        }
    }

    /// The same policy with another ceiling for encoded values, in bytes: [`Policy::MAX_PAYLOAD`] at most.
    ///
    /// A process does not read from Redis what is longer than 16 MiB, or than the highest ceiling of its calls so far
    /// where that is more: that is a miss. So while a deploy raises it above that, processes of the version before run
    /// their bodies where a value is above theirs.
    #[must_use]
    pub fn max_payload(self, max_payload: usize) -> Self {
        Self {
            max_payload: max_payload.min(Self::MAX_PAYLOAD),
            ..self
        }
    }

    /// The same policy, going straight through while coalescing measurably saves nothing in the namespace.
    ///
    /// A process judges windows of its own traffic: 10 s or `fresh_ttl`, whichever is longer, up to five minutes, and
    /// at least 100 calls. After three in a row in which less than a twentieth of the bodies was saved, and calls
    /// took longer than bodies, it goes past for 19 windows and shares for one. So traffic that pays is
    /// shared again within 20 windows. Costs no round trip.
    #[must_use]
    pub fn self_bypass(self) -> Self {
        Self {
            self_bypass: true,
            ..self
        }
    }

    /// The four clocks.
    pub const fn clocks(&self) -> &Clocks {
        &self.clocks
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            namespace: None,
            version: None,
            clocks: Clocks::default(),
            on_error: OnError::default(),
            keep_errors: Duration::ZERO,
            on_redis_error: OnRedisError::default(),
            max_payload: Self::DEFAULT_MAX_PAYLOAD,
            header_keys: Vec::new(),
            missing_header: MissingHeader::default(),
            enabled: true,
            self_bypass: false,
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
