//! The runtime behind `#[coalesce]`: who computes, who waits, and how a waiter learns that it is done.
//!
//! Users depend on the crate `coalesce-rs` (library `coalesce`), which re-exports all of this.

/// The admin router: snapshot, health, call sites, the kill switch and invalidation over HTTP.
#[cfg(feature = "axum")]
pub mod admin;
mod advisor;
mod backend;
mod books;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod config;
#[doc(hidden)]
pub mod contract;
mod engine;
mod flight;
mod format;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "metrics")]
mod metrics;
mod ports;
mod roof;
mod words;

pub use advisor::{Advice, Verdict};
pub use backend::memory::MemoryCoordinator;
pub use backend::redis::{RedisCoordinator, RedisSettings, UrlProblem};
pub use books::snapshot::{Counts, Distribution, Gauges, NamespaceSnapshot, Snapshot, Traffic};
pub use flight::context::carry;
pub use ports::headers::Headers;
pub use ports::health::{BreakerState, CoordinatorHealth, LastFault};
pub use roof::builder::CoalescerBuilder;
pub use roof::coalescer::Coalescer;
pub use roof::default::AlreadySet;
pub use roof::direct::DirectCall;
pub use roof::entry::Entry;
pub use roof::form::{CarriesErrors, Shared};
pub use roof::health::Health;
#[cfg(feature = "tower")]
pub use roof::layer::{HeadersLayer, HeadersService};
pub use roof::site_list::{ConfiguredSite, call_sites};
pub use words::canonical::{Canonical, canonical};
pub use words::error::{BuildError, Error, Problem};
pub use words::fault::Fault;
pub use words::key::{Key, KeyBuilder, Piece};
pub use words::key_part::KeyPart;
pub use words::key_writer::KeyWriter;
pub use words::policy::{ClockProblem, Clocks, MissingHeader, OnError, OnRedisError, Policy};
pub use words::switch::{Position, Scope, Turned};

/// What a coalescer tells about what it does, and who listens.
pub mod observing {
    pub use crate::ports::event::{
        BypassReason, BypassReasons, CallOutcome, CallOutcomes, Cause, Causes, Ending, Endings,
        Event, Faults, Incident, Incidents, Operation, Operations,
    };
    pub use crate::ports::observer::{Observer, PROCESS};
    pub use crate::ports::trace::TraceContext;
}

/// Codecs: how values become bytes. One per call site, named with `codec = …`.
pub mod codec {
    #[cfg(feature = "json")]
    pub use crate::format::codec::Json;
    #[cfg(feature = "postcard")]
    pub use crate::format::codec::Postcard;
    pub use crate::format::codec::{Codec, MessagePack};
}

/// What a coordinator is: for those who bring their own, and for the suites that hold each to the same promises.
pub mod coordination {
    pub use crate::engine::ask::{
        AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAnswer, RenewAsk,
        ReplaceAsk,
    };
    pub use crate::engine::cell::{Cell, Told};
    pub use crate::format::envelope::{Envelope, Seen, Status, Unreadable};
    pub use crate::format::message::Message;
    pub use crate::format::traceparent::Traceparent;
    pub use crate::ports::coordinator::{Coordinator, Interest, Listener, Notice, Renewals, Reply};
    pub use crate::words::clock::{ServerClock, ServerTime};
    pub use crate::words::token::Token;
}
