//! The coalescer: one per process and Redis, cheap to clone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::attendants::Attendants;
use super::builder::CoalescerBuilder;
use super::direct::DirectCall;
use super::self_bypass::SelfBypass;
use super::site::CallSite;
use crate::books::Books;
use crate::books::snapshot::{Counts, Gauges, NamespaceSnapshot, Snapshot};
#[cfg(feature = "axum")]
use crate::engine::ask::ReplaceAsk;
use crate::flight::core::Core;
#[cfg(feature = "axum")]
use crate::format::envelope::Envelope;
use crate::words::clock::{Instant, ServerTime, now};
use crate::words::fault::Fault;
#[cfg(feature = "axum")]
use crate::words::key::Key;
use crate::words::key_text::unescape;
use crate::words::policy::Policy;
use crate::words::switch::{Position, Scope, Turned, switch_key};

/// Coalesces calls through one coordinator: Redis, or the memory of this process.
///
/// Cheap to clone; all clones are one. Annotated functions use the process-wide default
/// ([`Coalescer::make_default`]) unless they name another with `coalescer = …`.
#[derive(Clone, Debug)]
pub struct Coalescer(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) books: Arc<Books>,
    pub(crate) built: Instant,
    pub(crate) self_bypass: SelfBypass,
    /// The resolved policy of each call site, by the site's address.
    pub(crate) policies: HashMap<usize, Arc<Policy>>,
    /// A process can be told to run every body as if no attribute were there.
    pub(crate) disabled: bool,
    pub(super) attendants: Attendants,
}

impl Coalescer {
    /// Starts a coalescer's configuration.
    pub fn builder() -> CoalescerBuilder {
        CoalescerBuilder::default()
    }

    /// A call without the attribute, for code that cannot be annotated.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Coalescer;
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// let total: u64 = coalescer.call("shop::total").key("acme").key(2026).run(|| async { 42 }).await;
    /// assert_eq!(total, 42);
    /// # Ok::<(), coalesce::BuildError>(())
    /// # }).unwrap();
    /// ```
    pub fn call(&self, namespace: impl Into<Arc<str>>) -> DirectCall {
        DirectCall::new(self.clone(), namespace.into())
    }

    /// What has been counted since this coalescer was built, over all namespaces. No round trip.
    pub fn counts(&self) -> Counts {
        self.0.books.counts()
    }

    /// What has been counted and measured since this coalescer was built, by namespace. No round trip;
    /// it takes some microseconds per namespace, so ask once a second rather than once a call.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Coalescer;
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// coalescer.call("shop::total").key("acme").run(|| async { 42 }).await;
    ///
    /// let snapshot = coalescer.snapshot();
    /// let total = &snapshot.namespaces["shop::total"];
    /// assert_eq!((total.calls, total.outcomes.led, total.executions.cold), (1, 1, 1));
    /// assert_eq!(total.calls, total.outcomes.total() + total.calls_in_progress);
    /// assert_eq!(total.execution_seconds.count, 1);
    /// # Ok::<(), coalesce::BuildError>(())
    /// # }).unwrap();
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        let health = self.0.core.coordinator.health();
        let mut snapshot = self.0.books.snapshot();
        let pages = || snapshot.namespaces.values().chain(&snapshot.others);
        snapshot.gauges = Gauges {
            flights: as_u64(self.in_flight()),
            calls: pages().map(|page| page.calls_in_progress).sum(),
            waiters: as_u64(self.0.core.fold.members()),
            executions: pages().map(|page| page.executions_in_progress).sum(),
            subscriptions: as_u64(self.subscriptions()),
            connected: health.connected,
            subscribed: health.subscribed,
            breaker: health.breaker,
        };
        self.backend().clone_into(&mut snapshot.backend);
        snapshot.up_seconds = (now() - self.0.built).as_secs_f64();
        snapshot
    }

    /// The same of one namespace; `None`: nothing has happened there.
    pub fn snapshot_of(&self, namespace: &str) -> Option<NamespaceSnapshot> {
        self.0.books.of(namespace)
    }

    /// Units of work in progress in this process. Zero when every caller has been answered.
    pub fn in_flight(&self) -> usize {
        self.0.core.fold.len()
    }

    /// Channels subscribed to, lingering ones included.
    pub fn subscriptions(&self) -> usize {
        self.0.core.coordinator.subscriptions()
    }

    /// The kind of coordinator: `"redis"` or `"memory"`.
    pub fn backend(&self) -> &'static str {
        self.0.core.coordinator.kind()
    }

    /// Ends in an orderly way: starts no new flight (calls run their bodies themselves), gives those in
    /// progress `grace` to end, frees the locks of the rest so that others take over at once, and
    /// closes the connections.
    ///
    /// It returns as soon as nothing is in progress, and a Redis that answers costs it milliseconds more. One that does
    /// not costs up to nine operation deadlines behind the grace, 2.25 s by default: four for questions on their way, one
    /// for renewals, one for the locks, three to close. So a process needs `grace`, nine deadlines and its own ending
    /// before it is killed: with a grace of 10 s and 5 s for the server in front of it, a
    /// `terminationGracePeriodSeconds` of 20.
    pub async fn shutdown(&self, grace: Duration) {
        self.0.core.shut_down(grace).await;
    }

    /// Turns the kill switch of `scope`, in every process of the fleet: within milliseconds, or within
    /// a second where the message is lost. Answers the position that it replaces, and whether anybody has such a
    /// namespace: look at it, or a misspelt name passes for a success. Two round trips here, a third for a namespace
    /// that this process does not know, and none per call anywhere.
    ///
    /// While a scope is off its calls run as if the attribute were not there, without any Redis traffic.
    /// A namespace's own position counts more than that of everything.
    ///
    /// # Errors
    ///
    /// When the coordinator gave no answer: the switch may have been turned all the same.
    pub async fn switch(&self, scope: &Scope, position: &Position) -> Result<Turned, Fault> {
        let replaced = self.turn(scope, Some(position.encode())).await?;
        let known = match scope {
            Scope::Everything => true,
            Scope::Namespace(namespace) => self.knows(namespace).await.unwrap_or(false),
        };
        Ok(Turned { replaced, known })
    }

    /// Takes the position of `scope` away: a namespace follows the position of everything again, and
    /// everything is on. Answers the position that it had. Two round trips: this process reads the positions anew.
    ///
    /// # Errors
    ///
    /// When the coordinator gave no answer: the position may be gone all the same.
    pub async fn clear_switch(&self, scope: &Scope) -> Result<Option<Position>, Fault> {
        self.turn(scope, None).await
    }

    /// The position of `scope` that holds now, as this process knows it. `None`: nobody has turned it, or the end of what
    /// was said has come. No round trip.
    ///
    /// It is that scope's own: calls of a namespace that has none follow the position of everything.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use std::time::Duration;
    ///
    /// use coalesce::{Coalescer, Position, Scope};
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// let for_ten_minutes = coalescer.moment_in(Duration::from_secs(600));
    /// let off = Position::off().until(for_ten_minutes).because("ada", "slow");
    /// let _everybody_has_that_one = coalescer.switch(&Scope::Everything, &off).await?;
    ///
    /// let is_off = |scope| coalescer.position(scope).is_some_and(|position| !position.on);
    /// assert!(is_off(&Scope::Everything), "for ten minutes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn position(&self, scope: &Scope) -> Option<Position> {
        self.0.core.switchboard.position(scope)
    }

    /// Every position that holds now, as this process knows it: that of everything, and those of namespaces. No round
    /// trip.
    pub fn positions(&self) -> (Option<Position>, BTreeMap<String, Position>) {
        let now = self.moment_in(Duration::ZERO);
        let (everything, mut of_namespaces) = self.stored_positions();
        of_namespaces.retain(|_, position| position.holds_at(now));
        (everything.filter(|it| it.holds_at(now)), of_namespaces)
    }

    /// The same with those that have ended by themselves: they stand there until somebody takes them away.
    pub(crate) fn stored_positions(&self) -> (Option<Position>, BTreeMap<String, Position>) {
        let mut positions = self.0.core.switchboard.positions();
        let everything = positions.remove(&Scope::Everything.field());
        let readable = |field: String| unescape(&field).unwrap_or(field);
        let of_namespaces = positions.into_iter();
        let of_namespaces = of_namespaces.map(|(field, position)| (readable(field), position));
        (everything, of_namespaces.collect())
    }

    /// Whether an outcome is stored. One round trip.
    #[cfg(feature = "axum")]
    pub(crate) async fn is_stored(&self, key: &Key) -> Result<bool, Fault> {
        let state = self.0.core.coordinator.read(key).await?;
        Ok(state.is_some_and(|bytes| Envelope::holds_outcome(key, &bytes)))
    }

    /// Puts a state in place from outside any flight. One round trip.
    #[cfg(feature = "axum")]
    pub(crate) async fn replace(&self, key: &Key, ask: &ReplaceAsk) -> Result<bool, Fault> {
        self.0.core.replace(key, ask).await
    }

    /// The moment `span` from now on the coordinator's clock: the end of a [`Position`]. No round trip.
    pub fn moment_in(&self, span: Duration) -> ServerTime {
        let clock = self.0.core.coordinator.clock(switch_key());
        clock.server_at(now()).plus(span)
    }

    async fn turn(&self, scope: &Scope, text: Option<String>) -> Result<Option<Position>, Fault> {
        let core = &self.0.core;
        let replaced = core
            .coordinator
            .set_switch(&scope.field(), text.as_deref())
            .await?;
        // The one who turned it sees it turned, whenever the news arrives.
        core.switchboard.reread().await;
        Ok(replaced.and_then(|text| Position::decode(&text)))
    }

    /// The policy of a call site.
    pub(crate) fn policy_of(&self, site: &'static CallSite) -> Arc<Policy> {
        let known = self.0.policies.get(&address_of(site)).cloned();
        // A site can be unknown only in a library loaded after the coalescer was built.
        known.unwrap_or_else(|| Arc::new(site.policy(&environment, &mut Vec::new())))
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The address of a call site: its identity.
pub(crate) fn address_of(site: &'static CallSite) -> usize {
    std::ptr::from_ref(site).addr()
}

/// Values from the process's environment.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
