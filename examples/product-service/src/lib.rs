//! A product service whose replicas share their reads: a program that a team can start its own from.
//!
//! Read [`catalog`] first: the one annotated read, and the write that makes every replica read again.
//! Then, from the outside in:
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | what a program of one replica does, from its environment to its end |
//! | [`serve`] | the life of a replica: it starts, serves, drains and ends |
//! | [`config`] | what it is told, from the environment |
//! | [`http`] | the routes, and what stands around all of them |
//! | [`limiter`] | a fixed window in Redis that all replicas count in |
//! | [`catalog`] | the read that all replicas share, and the write |
//! | [`product`] | products, and what may be written |
//! | [`faults`] | a database that is slow or broken on purpose, and its reads counted |
//! | [`postgres`] | products in PostgreSQL |
//! | [`telemetry`] | logs and metrics |

pub mod catalog;
pub mod config;
pub mod faults;
pub mod http;
pub mod limiter;
pub mod postgres;
pub mod product;
pub mod program;
pub mod serve;
pub mod telemetry;
