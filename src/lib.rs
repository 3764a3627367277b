//! One execution for the whole fleet: callers of one key in many processes share the work, not only the result.
//!
//! The attribute [`#[coalesce]`](macro@coalesce) on an async function makes callers with equal keys
//! that overlap in time one *flight*: one of them, the leader, runs the body; the others follow it and
//! get its outcome. Processes find each other through Redis; without one, a process coalesces within
//! itself.
//!
//! The package is `coalesce-rs`, its library `coalesce`.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use std::time::Duration;
//!
//! use coalesce::{Coalescer, coalesce};
//!
//! static EXECUTIONS: AtomicU32 = AtomicU32::new(0);
//!
//! #[coalesce(fresh_ttl = "30s", stale_ttl = "5m")]
//! async fn price_of(item: u64) -> u64 {
//!     EXECUTIONS.fetch_add(1, Ordering::Relaxed);
//!     tokio::time::sleep(Duration::from_millis(20)).await;
//!     item * 100
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let coalescer = Coalescer::builder().in_process().build().await?;
//!     coalescer.clone().make_default()?;
//!
//!     let (one, other) = tokio::join!(price_of(7), price_of(7));
//!     assert_eq!((one, other), (700, 700));
//!     assert_eq!(EXECUTIONS.load(Ordering::Relaxed), 1);
//!
//!     let counts = coalescer.counts();
//!     assert_eq!((counts.led, counts.followed), (1, 1));
//!     Ok(())
//! }
//! ```
//!
//! # Where to look
//!
//! | you want to | look at |
//! |---|---|
//! | annotate a function, and know its options | [`#[coalesce]`](macro@coalesce) |
//! | say which Redis, leases, limits | [`Coalescer::builder`], [`CoalescerBuilder`] |
//! | coalesce without the attribute | [`Coalescer::call`], [`DirectCall`], [`Policy`], [`Clocks`] |
//! | peek at, put, refresh or invalidate one entry | [`Entry`] |
//! | make your own type part of a key | [`KeyPart`](derive@KeyPart), [`canonical`] |
//! | have values written as JSON, or in another way | [`codec`] |
//! | make request headers part of a key | [`Headers`] |
//! | spawn tasks in a body | [`carry`] |
//! | know what can go wrong | [`Error`], [`Fault`], [`BuildError`] |
//! | count and measure | [`Coalescer::snapshot`], [`Snapshot`], [`observing::Observer`] |
//! | see what is configured | [`call_sites`], [`Coalescer::call_sites`] |
//! | see how it is | [`Coalescer::health`], [`Health`] |
//! | test a service without Redis | [`MemoryCoordinator`] |
//! | bring another coordinator | [`coordination::Coordinator`] |
//! | know what is promised, and the test behind each promise | [`promises`] |
//! | run the Redis, its rights, its alarms | [`operating`] |
//!
//! Coming from `cached`, `moka` or a lock of your own:
//! [the guide](https://github.com/coalesce-rs/coalesce/blob/main/docs/migrating.md).
//!
//! When to use this and when not, the four clocks, and what happens in which failure are in the
//! [README](https://github.com/coalesce-rs/coalesce#readme).

pub use coalesce_macros::KeyPart;
#[doc = include_str!("attribute.md")]
pub use coalesce_macros::coalesce;
pub use coalesce_runtime::{
    Advice, AlreadySet, BreakerState, BuildError, Canonical, CarriesErrors, ClockProblem, Clocks,
    Coalescer, CoalescerBuilder, ConfiguredSite, CoordinatorHealth, Counts, DirectCall,
    Distribution, Entry, Error, Fault, Gauges, Headers, Health, Key, KeyBuilder, KeyPart,
    KeyWriter, LastFault, MemoryCoordinator, MissingHeader, NamespaceSnapshot, OnError,
    OnRedisError, Piece, Policy, Position, Problem, RedisCoordinator, RedisSettings, Scope, Shared,
    Snapshot, Traffic, Turned, UrlProblem, Verdict, call_sites, canonical, carry, codec,
    coordination, observing,
};

#[cfg(feature = "axum")]
pub use coalesce_runtime::admin;
#[cfg(feature = "tower")]
pub use coalesce_runtime::{HeadersLayer, HeadersService};

#[doc(hidden)]
pub use coalesce_runtime::contract as __private;

#[doc = include_str!("../docs/promises.md")]
pub mod promises {}

#[doc = include_str!("../docs/operating.md")]
pub mod operating {}

/// Compiles and runs the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles and runs the guide's examples.
#[cfg(doctest)]
#[doc = include_str!("../docs/migrating.md")]
struct Migrating;
