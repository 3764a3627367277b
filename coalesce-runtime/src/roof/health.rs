//! Health: how coalescing is in this process, for readiness checks and the person on call.

use super::coalescer::Coalescer;
use crate::ports::health::{BreakerState, CoordinatorHealth, LastFault};

/// How a coalescer is at a moment. It names no key, no argument and no part of a URL.
///
/// Nothing in it is a reason to take a process out of service: without its Redis it runs bodies, folded within the
/// process. `connected` and `breaker` say whether the fleet shares work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The kind of coordinator: `"redis"` or `"memory"`.
    pub backend: &'static str,
    /// All connections are up. Always so in memory, as for the next two.
    pub connected: bool,
    /// Followers are told when a flight ends. When not, they find out by polling.
    pub subscribed: bool,
    /// Whether questions are asked at all, or bodies run at once because the last ones got no answer.
    pub breaker: BreakerState,
    /// The last fault of any question or connection, and how long ago it was. It stays when everything is well again.
    pub last_fault: Option<LastFault>,
    /// How often a reply or a message was another key's or another request's. Each was discarded.
    pub misrouted: u64,
    /// Keys in progress in this process.
    pub in_flight: usize,
    /// Callers that are waiting in this process, those whose body runs included.
    pub waiters: usize,
    /// Calls that ran their body because as much was in progress as may be, since the coalescer was built.
    pub capped: u64,
    /// Whether it has been shut down: calls run their bodies.
    pub stopping: bool,
}

impl Coalescer {
    /// How it is. No round trip; it looks at every key in progress.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::{BreakerState, Coalescer};
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// let health = coalescer.health();
    /// assert!(health.connected && health.subscribed);
    /// assert_eq!(health.breaker, BreakerState::Closed);
    /// assert_eq!((health.in_flight, health.waiters, health.capped), (0, 0, 0));
    /// if let Some(last) = health.last_fault {
    ///     println!("last fault: {} {:?} ago", last.fault, last.ago);
    /// }
    /// # Ok::<(), coalesce::BuildError>(())
    /// # }).unwrap();
    /// ```
    pub fn health(&self) -> Health {
        let core = &self.0.core;
        let CoordinatorHealth {
            connected,
            subscribed,
            breaker,
            last_fault,
            misrouted,
        } = core.coordinator.health();
        Health {
            backend: core.coordinator.kind(),
            connected,
            subscribed,
            breaker,
            last_fault,
            misrouted,
            in_flight: core.fold.len(),
            waiters: core.fold.members(),
            capped: self.counts().capped,
            stopping: core.is_stopping(),
        }
    }
}
