//! The Redis coordinator: locks, states and messages of every key, kept by a Redis that may be in trouble.
//!
//! ```text
//! settings, connect   what the application says, and its URL taken apart
//! profile             the client's settings, each chosen by a measured failure
//! keyspace, script    names, and questions as runs of the scripts in `scripts/`
//! replies, fault      what comes back, as answers or as reasons why there is none
//! shared              a question asked to its end, whoever still waits for it
//! nodes, listening    the servers, and which of them answers for a slot: questions, and who listens
//! slots, redirect     the slot table of a cluster; what to do when a node names another
//! strangers           nodes that another has named and the table may not
//! survey, pace        asks who serves what, and keeps the nodes up to it; when to ask again
//! node                one server: three lines, a clock, and who listens there
//! client, keeper      one line: few commands with limits; its connections, made again and again
//! lookout             an address that leads elsewhere by now is followed
//! probe, breaker      a dead connection is noticed; nobody waits for it twice
//! registry, subscri…  who listens to what, and the conversation with the server about it
//! ```
//!
//! To the client each node of a cluster is a server of its own, so that the trouble of one is the trouble of
//! its slots and of no others. No type of the client leaves this module.

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
mod listening;
mod lookout;
mod node;
mod nodes;
mod pace;
mod probe;
mod profile;
mod redirect;
mod registry;
mod replies;
mod script;
mod settings;
mod shared;
mod slots;
mod strangers;
mod subscriber;
mod subscribing;
mod survey;
mod switching;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use self::connect::Address;
use self::keeper::Task;
use self::keyspace::Keyspace;
use self::nodes::Nodes;
use self::profile::Profile;
use self::replies::Said;
use self::script::{ABANDON, BEGIN, Call, FINISH, RENEW, REPLACE, Script};
use self::shared::{Shared, answer_of};
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
#[cfg(feature = "cli")]
pub(crate) use self::slots::SLOTS;

/// How long a start waits for the first connections before it goes on without them.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// A coordinator that keeps locks and states in Redis. Cheap to clone.
///
/// Reading is one `GETRANGE`, every other question one script, each within the deadline. When Redis does
/// not answer, questions end in a [`Fault`], soon in [`Fault::Paused`] at once, and connections are
/// made again in the background until it does.
///
/// The connections live on the runtime that made them. When that one is gone (one `#[tokio::test]` after
/// another in one process), the first question on the next makes them anew there.
///
/// An address may lead to another server by now, as a name does after a fail-over. When a connection has been made
/// again, all of them are asked which server they are at. While they are not at one and the same server, or it takes no
/// writes and somebody asks it to, a connection of its own looks ever more rarely whether there is a primary at the
/// address: then all connections go there. From the beginning of one look to that of the next there are 0.8 s at most, or
/// as long as a server does not answer: the deadline where a connection hangs, and a second where the address does. Only
/// where an address leads to one primary after another are there up to 30 s.
///
/// # Least rights
///
/// A user of Redis that may do all that is needed and nothing else, for one server and for a cluster, is written down
/// where it is tested, in [Operating][rights]. Sentinels need `+role` besides,
/// and a database other than 0 needs `+select`.
///
/// [rights]: https://github.com/coalesce-rs/coalesce/blob/main/docs/operating.md#least-privilege
///
/// # Clusters
///
/// Each primary has three connections, breakers and a clock of its own, so that one that dies or hangs costs the keys of
/// the others nothing. Which of them has a key is known here: a question is one round trip to its node, and one more
/// when the slot has moved. Who serves what is asked of any node, `CLUSTER SLOTS`, at the start, when a node names
/// another, and twice a second while one of them gives no answer; so the keys of a dead primary are shared again as
/// soon as its replica has taken over. While a slot is being moved, new keys of it are not shared.
#[derive(Clone)]
pub struct RedisCoordinator(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    /// Finds out who serves what; none where there is no cluster, nor behind the end.
    survey: Mutex<Option<Task>>,
}

impl RedisCoordinator {
    /// Connects, or starts to: it returns after a second at most, connected or not, and goes on trying.
    ///
    /// # Errors
    ///
    /// Only when the URL is not one. A Redis that is not there is a [`Fault`] of each question.
    pub async fn connect(settings: RedisSettings) -> Result<Self, UrlProblem> {
        let address = Address::parse(&settings.url)?;
        let (server, seeds) = (address.place(), address.seeds());
        let profile = Profile::new(address, settings.deadline)?;
        let nodes = Nodes::new(profile, settings.linger, server, seeds);
        let coordinator = Self(Arc::new(Inner::start(nodes, &settings.prefix)));
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
    ///
    /// Of a cluster it says how the worst of its primaries is: `connected` is false while any slot is without a
    /// primary that we are connected to, though keys of other slots are shared as ever.
    pub fn health(&self) -> CoordinatorHealth {
        self.0.shared.nodes.health()
    }

    async fn ready(&self) {
        self.0.shared.nodes.ready().await;
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
    fn start(nodes: Nodes, prefix: &str) -> Self {
        let (names, nodes) = (Keyspace::new(prefix), Arc::new(nodes));
        let survey = nodes.is_clustered().then(|| survey::spawn(&nodes));
        Self {
            shared: Arc::new(Shared { names, nodes }),
            survey: Mutex::new(survey),
        }
    }

    /// Makes the connections again when they went away with their runtime. Whether they had.
    fn revive(&self) -> bool {
        let nodes = &self.shared.nodes;
        // Whoever holds it is at it, or closes.
        let Ok(mut survey) = self.survey.try_lock() else {
            return false;
        };
        let surveyed = survey.as_ref().is_none_or(Task::is_running);
        if !surveyed {
            *survey = Some(survey::spawn(nodes));
        }
        // Each node is looked at: they may have begun on other runtimes than the survey.
        nodes.revive() || !surveyed
    }

    async fn close(&self) {
        let survey = self
            .survey
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(survey) = survey {
            // It would go on to make connections.
            survey.stop().await;
        }
        self.shared.nodes.close().await;
    }
}

impl Coordinator for RedisCoordinator {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn clock(&self, key: &Key) -> ServerClock {
        let Shared { names, nodes } = &*self.0.shared;
        nodes.clock(names.slot(key))
    }

    fn health(&self) -> CoordinatorHealth {
        Self::health(self)
    }

    fn deadline(&self) -> Duration {
        self.0.shared.deadline()
    }

    fn takes(&self, payload: usize) {
        self.0.shared.nodes.profile.take(payload);
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        // Not in a task of its own: a reading that nobody waits for any more changes nothing.
        Box::pin(async move {
            self.wake().await;
            self.0.shared.read(key).await
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        let Shared { names, nodes } = &*self.0.shared;
        let call = names.begin(key, ask, nodes.profile.last_byte());
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
            self.0.shared.nodes.listen(&name, key).await
        })
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        let name = self.0.shared.names.channel(key);
        self.0.shared.nodes.listening(&name)
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
