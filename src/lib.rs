//! One execution for the whole fleet: callers of one key in many processes share the work, not only the result.
//!
//! The crate is `coalesce-rs`, its library `coalesce`.

pub use coalesce_macros::coalesce;
pub use coalesce_runtime::{
    AlreadySet, BuildError, ClockProblem, Clocks, Coalescer, CoalescerBuilder, Counts, DirectCall,
    Entry, Error, Fault, Headers, Key, KeyBuilder, KeyPart, KeyWriter, MemoryCoordinator,
    MissingHeader, OnError, OnRedisError, Piece, Policy, Problem, RedisCoordinator, RedisHealth,
    RedisSettings, UrlProblem, coordination,
};

#[doc(hidden)]
pub use coalesce_runtime::contract as __private;
