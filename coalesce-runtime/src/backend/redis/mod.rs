//! The Redis coordinator: locks, states and messages of every key, kept by a Redis that may be in trouble.
//!
//! ```text
//! settings, connect   what the application says, and its URL taken apart
//! profile             the client's settings, each chosen by a measured failure
//! keyspace, script    names, and questions as runs of the scripts in `scripts/`
//! replies, fault      what comes back, as answers or as reasons why there is none
//! shared              a question asked to its end, whoever still waits for it
//! client, keeper      one line: few commands with limits; its connections, made again and again
//! probe, breaker      a dead connection is noticed; nobody waits for it twice
//! registry, subscri…  who listens to what, and the conversation with the server about it
//! ```
//!
//! There are three lines, because whatever is slow or paused on one connection blocks all behind it:
//! one that only reads, one for scripts, one that only listens. No type of the client leaves this module.

#[cfg(feature = "cli")]
mod admin;
mod breaker;
mod client;
mod clock;
mod connect;
mod fault;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod health;
mod keeper;
mod keyspace;
mod probe;
mod profile;
mod registry;
mod replies;
mod script;
mod settings;
mod shared;
mod subscriber;
mod subscribing;
mod switching;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::interfaces::ClientLike as _;
use tokio::time::{sleep, timeout};

use self::client::Line;
use self::clock::Clock;
use self::connect::Address;
use self::health::Vitals;
use self::keeper::{Task, keep};
use self::keyspace::Keyspace;
use self::probe::{Probe, Where};
use self::profile::Profile;
use self::replies::Said;
use self::script::{ABANDON, BEGIN, Call, FINISH, RENEW, REPLACE, Script};
use self::shared::{Shared, answer_of};
use self::subscriber::Subscriber;
use crate::engine::ask::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAsk, ReplaceAsk,
};
use crate::ports::coordinator::{Coordinator, Listener, Renewals, Reply};
use crate::ports::health::CoordinatorHealth;
use crate::words::clock::ServerClock;
use crate::words::fault::Fault;
use crate::words::key::Key;

#[cfg(feature = "cli")]
pub(crate) use self::admin::Plain;
pub use self::connect::UrlProblem;
pub use self::settings::RedisSettings;

/// How long a start waits for the first connections before it goes on without them.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Events a line keeps for those who are slow to take them, and messages on the line that listens.
const ROOM: [usize; 2] = [32, 1_024];

/// A coordinator that keeps locks and states in Redis. Cheap to clone.
///
/// Reading is one `GET`, every other question one script, each within the deadline. When Redis does
/// not answer, questions end in a [`Fault`], soon in [`Fault::Paused`] at once, and connections are
/// made again in the background until it does.
///
/// The connections live on the runtime that made them. When that one is gone (one `#[tokio::test]` after
/// another in one process), the first question on the next makes them anew there.
///
/// # Least rights
///
/// With the prefix `coalesce`, this user of Redis may do all that is needed and nothing else:
///
/// ```text
/// ACL SETUSER app reset on >password ~coalesce:* &coalesce:*
///     +get +getex +set +del +pexpire +pttl +getrange +setrange +strlen +eval +evalsha +publish +time
///     +hget +hset +hdel +hgetall +zadd +zrange +zremrangebyscore
///     +subscribe +unsubscribe +ping +hello +auth +client|id +info
/// ```
///
/// A cluster needs `+cluster|slots +cluster|info` besides, sentinels `+role`.
#[derive(Clone)]
pub struct RedisCoordinator(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    subscriber: Arc<Subscriber>,
    /// Dropping them drops the connections.
    keepers: Mutex<Vec<Task>>,
}

impl RedisCoordinator {
    /// Connects, or starts to: it returns after a second at most, connected or not, and goes on trying.
    ///
    /// # Errors
    ///
    /// Only when the URL is not one. A Redis that is not there is a [`Fault`] of each question.
    pub async fn connect(settings: RedisSettings) -> Result<Self, UrlProblem> {
        let profile = Profile::new(Address::parse(&settings.url)?, settings.deadline)?;
        let coordinator = Self(Arc::new(Inner::start(&profile, &settings)));
        if timeout(FIRST_CONNECTION, coordinator.ready())
            .await
            .is_err()
        {
            let fault = coordinator.health().last_fault;
            let fault = fault.map(|last| last.fault.label());
            tracing::warn!(
                fault,
                "no connection to Redis yet: calls run on their own until there is one"
            );
        }
        Ok(coordinator)
    }

    /// How it is. Costs no round trip.
    pub fn health(&self) -> CoordinatorHealth {
        let (shared, subscriber) = (&self.0.shared, &self.0.subscriber);
        let lines = [&shared.reads, &shared.scripts];
        let breakers = lines.iter().map(|line| line.breakers.worst());
        CoordinatorHealth {
            connected: lines.iter().all(|line| line.is_connected()),
            subscribed: subscriber.is_sound(),
            breaker: breakers.max().unwrap_or_default(),
            last_fault: shared.vitals.last_fault(),
            misrouted: shared.vitals.misrouted(),
        }
    }

    async fn ready(&self) {
        loop {
            let health = self.health();
            if health.connected && health.subscribed && self.0.shared.clock.known().is_some() {
                return;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    fn ask<A: Send + 'static>(
        &self,
        script: &'static Script,
        call: Call,
        decode: impl FnOnce(Said) -> Result<A, Fault> + Send + 'static,
    ) -> Reply<'static, A> {
        let coordinator = self.clone();
        Box::pin(async move {
            coordinator.wake().await;
            answer_of(coordinator.0.shared.start(script, call, decode)).await
        })
    }

    /// Makes the connections anew on this runtime if the one they lived on is gone.
    async fn wake(&self) {
        if self.0.revive() {
            let connected = self.ready();
            // As at the start: what is not there in time is a fault of the question.
            let _ = Box::pin(timeout(FIRST_CONNECTION, connected)).await;
        }
    }
}

impl Inner {
    fn start(profile: &Profile, settings: &RedisSettings) -> Self {
        let (clock, vitals) = (Arc::<Clock>::default(), Arc::<Vitals>::default());
        let [room, messages] = ROOM;
        let line = |room| Arc::new(Line::new(profile.clone(), Arc::clone(&vitals), room));
        let (reads, scripts) = (line(room), line(room));
        let subscriber = Arc::new(Subscriber::new(line(messages), settings.linger));
        let inner = Self {
            shared: Arc::new(Shared {
                names: Keyspace::new(&settings.prefix),
                clock,
                vitals,
                reads,
                scripts,
            }),
            subscriber,
            keepers: Mutex::default(),
        };
        *inner.keepers() = inner.started();
        inner
    }

    /// The tasks that keep the lines connected, on the runtime of the moment.
    fn started(&self) -> Vec<Task> {
        let (shared, subscriber) = (&self.shared, Arc::clone(&self.subscriber));
        let clock = Some(Arc::clone(&shared.clock));
        vec![
            keep_up(&shared.reads, Where::Anywhere, clock, |_| Vec::new()),
            keep_up(&shared.scripts, Where::Anywhere, None, |_| Vec::new()),
            keep_up(&self.subscriber.line, Where::Subscriptions, None, {
                move |client| subscriber.man(client)
            }),
        ]
    }

    /// Starts the keepers again when they went away with their runtime; they never end by themselves.
    fn revive(&self) -> bool {
        // Whoever holds it is at it, or closes.
        let Ok(mut keepers) = self.keepers.try_lock() else {
            return false;
        };
        let gone = keepers.first().is_some_and(|keeper| !keeper.is_running());
        if gone {
            self.lines().into_iter().for_each(Line::replace_client);
            *keepers = self.started();
        }
        gone
    }

    fn lines(&self) -> [&Line; 3] {
        let Shared { reads, scripts, .. } = &*self.shared;
        [reads, scripts, &self.subscriber.line]
    }

    fn keepers(&self) -> MutexGuard<'_, Vec<Task>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn close(&self) {
        for line in self.lines() {
            // A server that does not answer even that loses its connection below.
            let _ = line.client().quit().await;
        }
        self.keepers().clear();
    }
}

/// Keeps a line connected and probed, with more tasks for each of its clients.
fn keep_up(
    line: &Arc<Line>,
    place: Where,
    clock: Option<Arc<Clock>>,
    crew: impl Fn(&Client) -> Vec<Task> + Send + 'static,
) -> Task {
    let probed = Arc::clone(line);
    keep(Arc::clone(line), move |client| {
        let mut tasks = crew(client);
        let line = Arc::clone(&probed);
        tasks.push(Probe::new(line, client.clone(), place, clock.clone()).spawn());
        tasks
    })
}

impl Coordinator for RedisCoordinator {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn clock(&self) -> ServerClock {
        self.0.shared.clock.best()
    }

    fn health(&self) -> CoordinatorHealth {
        Self::health(self)
    }

    fn deadline(&self) -> Duration {
        self.0.shared.scripts.profile.deadline()
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        // Not in a task of its own: a GET that nobody waits for any more changes nothing.
        Box::pin(async move {
            self.wake().await;
            self.0.shared.read(key).await
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        let call = self.0.shared.names.begin(key, ask);
        self.ask(&BEGIN, call, Said::begin)
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        Box::pin(async move {
            self.wake().await;
            let shared = &self.0.shared;
            let started = shared.renewals(asks).into_iter().map(|(call, asked)| {
                let run = shared.start(&RENEW, call, move |said| said.renew(asked));
                (run, asked)
            });
            let runs: Vec<_> = started.collect();
            let mut answers = Vec::with_capacity(asks.len());
            for (run, asked) in runs {
                // Each run is on its own: a node that is silent costs no other's locks their answers.
                let run = answer_of(run).await;
                answers.extend(run.unwrap_or_else(|fault| vec![Err(fault); asked]));
            }
            Ok(answers)
        })
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        let call = self.0.shared.names.finish(key, ask);
        self.ask(&FINISH, call, Said::finish)
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        let call = self.0.shared.names.abandon(key, ask);
        self.ask(&ABANDON, call, Said::yes_or_no)
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        let call = self.0.shared.names.replace(key, ask);
        self.ask(&REPLACE, call, Said::yes_or_no)
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        Box::pin(async move {
            self.wake().await;
            let name = self.0.shared.names.channel(key);
            self.0.subscriber.listen(&name, key).await
        })
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        let name = self.0.shared.names.channel(key);
        self.0.subscriber.listening(&name)
    }

    fn subscriptions(&self) -> usize {
        self.key_subscriptions()
    }

    fn switches(&self) -> Reply<'_, Vec<(String, String)>> {
        self.read_switches()
    }

    fn set_switch<'a>(
        &'a self,
        field: &'a str,
        text: Option<&'a str>,
    ) -> Reply<'a, Option<String>> {
        self.write_switch(field, text)
    }

    fn switch_news(&self) -> Reply<'_, Listener> {
        self.hear_of_switches()
    }

    fn announce<'a>(&'a self, names: &'a [String], life: Duration) -> Reply<'a, ()> {
        self.write_names(names, life)
    }

    fn announced(&self) -> Reply<'_, Vec<String>> {
        self.read_names()
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(async move {
            self.0.close().await;
            Ok(())
        })
    }
}

impl fmt::Debug for RedisCoordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisCoordinator")
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}
