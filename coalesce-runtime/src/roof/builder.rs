//! The builder: how a coalescer is configured, and where everything wrong with it is said at once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use super::attendants::Attendants;
use super::backend::Backend;
use super::coalescer::{Coalescer, Inner, address_of, environment};
use super::self_bypass::SelfBypass;
use super::site::CallSite;
use crate::backend::redis::RedisSettings;
use crate::books::Books;
use crate::config::interpolation::Lookup;
use crate::config::quantity::switch;
use crate::flight::core::{Core, Settings};
use crate::ports::coordinator::Coordinator;
use crate::ports::locals::Locals;
use crate::ports::observer::{Observer, Observers};
use crate::ports::trace::Traces;
use crate::words::clock::now;
use crate::words::error::{BuildError, Problem};
use crate::words::policy::Policy;

inventory::collect!(&'static CallSite);

/// The environment variable that makes every call of one process run as if no attribute were there.
const DISABLED_VARIABLE: &str = "COALESCE_DISABLED";

/// Configures a [`Coalescer`].
///
/// Where nothing is said: Redis at `COALESCE_REDIS_URL`; without that variable, the memory of this
/// process, with one warning that says so.
#[derive(Debug, Default)]
#[must_use = "a builder does nothing before `build`"]
pub struct CoalescerBuilder {
    backend: Backend,
    prefix: Option<String>,
    deadline: Option<Duration>,
    settings: Settings,
    values: HashMap<String, String>,
    pub(super) observers: Guests,
    pub(super) traces: Traces,
    pub(super) locals: Locals,
    pub(super) advise_every: Option<Duration>,
    #[cfg(feature = "metrics")]
    pub(super) shows_gauges: bool,
}

/// Observers that the application brings.
#[derive(Default)]
pub(super) struct Guests(pub(super) Vec<Arc<dyn Observer>>);

impl fmt::Debug for Guests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl CoalescerBuilder {
    /// Coordinates through the Redis at this URL: `redis://`, `rediss://`, `redis-cluster://` or
    /// `redis-sentinel://`.
    pub fn redis(self, url: impl Into<String>) -> Self {
        Self {
            backend: Backend::Redis(url.into()),
            ..self
        }
    }

    /// Coordinates within this process only. What concerns Redis alone, prefix and deadline, is then of no use.
    pub fn in_process(self) -> Self {
        Self {
            backend: Backend::InProcess,
            ..self
        }
    }

    /// Coordinates through this coordinator. Coalescers that share one behave like processes that
    /// share a Redis.
    ///
    /// It is taken as it was made: a prefix or an operation deadline beside it is refused. Its own deadline should be a
    /// sixth of the lease at most, so that a renewal without an answer and the next one fit into a lease.
    pub fn coordinator(self, coordinator: Arc<dyn Coordinator>) -> Self {
        Self {
            backend: Backend::Given(coordinator),
            ..self
        }
    }

    /// The first word of every name in Redis; default `coalesce`. Two applications with different
    /// prefixes never see each other.
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: Some(prefix.into()),
            ..self
        }
    }

    /// The longest any single Redis operation may take; default 250 ms, or a sixth of the lease where that is less.
    /// More than a sixth is refused: a renewal that got no answer and the next one must both fit into a lease.
    pub fn operation_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// A lock's life without a renewal: how soon a dead process is noticed. Default 3 s, renewed
    /// three times as often.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// The first and the longest pause between a follower's safety polls; default 50 ms and 1 s.
    pub fn polls(mut self, first: Duration, widest: Duration) -> Self {
        self.settings.poll.first = first;
        self.settings.poll.widest = widest;
        self
    }

    /// How long an outcome that is not retained stays readable for followers; default 5 s.
    ///
    /// Below the default it should be the same in all processes: a leader that was cut off keeps its lock when it finds
    /// no newer outcome, and one that another process kept for less than this may have come and gone.
    pub fn delivery_window(mut self, window: Duration) -> Self {
        self.settings.delivery = window;
        self
    }

    /// The first pause after a failed refresh; it doubles with each further failure, up to a minute.
    /// Default 1 s.
    pub fn refresh_pause(mut self, pause: Duration) -> Self {
        self.settings.refresh_pause = pause;
        self
    }

    /// How many refreshes of this process may run at once; default 64. More wait for a later call.
    ///
    /// A refresh that reaches its `pending_ttl` is dropped: its outcome would be refused, and nobody waits for it.
    pub fn max_refreshes(mut self, count: usize) -> Self {
        self.settings.max_refreshes = count;
        self
    }

    /// How many keys may be in progress in this process at once; default 100,000. A call of one more is answered
    /// by what is stored, and otherwise runs its body as if the attribute were not there; [`Counts::capped`] counts it.
    ///
    /// [`Counts::capped`]: crate::Counts::capped
    pub fn max_in_flight(mut self, keys: usize) -> Self {
        self.settings.limits.entries = keys;
        self
    }

    /// How many callers of one key may wait in this process at once, the one that runs the body included; default
    /// 100,000. One more goes its own way, as with [`max_in_flight`](Self::max_in_flight).
    pub fn max_waiters(mut self, callers: usize) -> Self {
        self.settings.limits.members = callers;
        self
    }

    /// A value for `${name}` in options, used where the environment has none.
    pub fn value(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// Checks the configuration, every call site of the program included, and connects.
    ///
    /// A Redis that is not there is no error: calls run their bodies, folded within the process,
    /// until it is. Waits about a second for the first connection, at most.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once.
    pub async fn build(self) -> Result<Coalescer, BuildError> {
        let mut problems = self.settings_problems();
        let policies = self.policies(&mut problems);
        let disabled = disabled(&mut problems);
        let coordinator = match self
            .backend
            .coordinate(self.prefix.as_deref(), self.deadline(), &mut problems)
            .await
        {
            Some(coordinator) if problems.is_empty() => coordinator,
            _ => return Err(BuildError::of(problems)),
        };
        let books = Arc::<Books>::default();
        let observers = Observers::new(Arc::clone(&books) as Arc<dyn Observer>, self.observers.0);
        let observers = observers.into();
        let core = Core::new(
            coordinator,
            self.settings,
            observers,
            self.traces,
            self.locals,
        );
        let core = Arc::new(core);
        core.switchboard.reread().await;
        let inner = Arc::new(Inner {
            core,
            self_bypass: SelfBypass::new(Arc::clone(&books)),
            books,
            built: now(),
            policies,
            disabled,
            attendants: Attendants {
                advise_every: self.advise_every,
                #[cfg(feature = "metrics")]
                shows_gauges: self.shows_gauges,
                follower: ArcSwapOption::empty(),
                starting: Mutex::default(),
            },
        });
        inner.attend();
        Ok(Coalescer(inner))
    }

    /// What was said, or what a short lease leaves of the default.
    fn deadline(&self) -> Duration {
        let default = RedisSettings::DEADLINE.min(self.settings.lease / 6);
        self.deadline.unwrap_or(default)
    }

    fn settings_problems(&self) -> Vec<Problem> {
        let Settings {
            lease,
            poll,
            delivery,
            refresh_pause,
            max_refreshes,
            limits,
        } = self.settings;
        let (second, millisecond) = (Duration::from_secs(1), Duration::from_millis(1));
        let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
        let advise_every = self.advise_every.unwrap_or(second);
        let deadline = self.deadline.unwrap_or(millisecond);
        let mut problems: Vec<_> = [
            ("lease", lease, 10 * millisecond, hour),
            ("polls", poll.first, millisecond, hour),
            ("polls", poll.widest, millisecond, hour),
            ("delivery_window", delivery, millisecond, 24 * hour),
            ("refresh_pause", refresh_pause, millisecond, 24 * hour),
            ("operation_deadline", deadline, millisecond, minute),
            ("advise_every", advise_every, second, 24 * hour),
        ]
        .into_iter()
        .filter_map(|(option, value, least, most)| {
            let wrong = if value < least {
                format!("{value:?} is below {least:?}")
            } else if value > most {
                format!("{value:?} is above {most:?}")
            } else {
                return None;
            };
            Some(problem(option, wrong))
        })
        .collect();
        if self.deadline.is_some_and(|deadline| deadline > lease / 6) {
            problems.push(problem(
                "operation_deadline",
                "it is above a sixth of the lease".to_owned(),
            ));
        }
        let beside = [
            ("prefix", self.prefix.is_some()),
            ("operation_deadline", self.deadline.is_some()),
        ];
        problems.extend(self.backend.problems(&beside));
        if poll.widest < poll.first {
            problems.push(problem(
                "polls",
                "the widest pause is below the first".to_owned(),
            ));
        }
        for (option, count, of_nothing) in [
            (
                "max_refreshes",
                max_refreshes,
                "0 would never refresh anything",
            ),
            (
                "max_in_flight",
                limits.entries,
                "0 would never coalesce anything",
            ),
            (
                "max_waiters",
                limits.members,
                "0 would never coalesce anything",
            ),
        ] {
            if count == 0 {
                problems.push(problem(option, of_nothing.to_owned()));
            }
        }
        problems
    }

    fn policies(&self, problems: &mut Vec<Problem>) -> HashMap<usize, Arc<Policy>> {
        let lookup = |name: &str| environment(name).or_else(|| self.values.get(name).cloned());
        sites()
            .map(|site| {
                (
                    address_of(site),
                    Arc::new(site.policy(&lookup as &dyn Lookup, problems)),
                )
            })
            .collect()
    }
}

/// Every annotated function of the program, in no particular order.
pub(super) fn sites() -> impl Iterator<Item = &'static CallSite> {
    inventory::iter::<&'static CallSite>.into_iter().copied()
}

/// Whether the environment switches coalescing off in this process.
fn disabled(problems: &mut Vec<Problem>) -> bool {
    let Some(text) = environment(DISABLED_VARIABLE) else {
        return false;
    };
    switch(&text).unwrap_or_else(|message| {
        problems.push(problem(DISABLED_VARIABLE, message));
        false
    })
}

pub(super) fn problem(option: &str, message: String) -> Problem {
    Problem {
        place: "Coalescer::builder()".to_owned(),
        option: option.to_owned(),
        message,
    }
}
