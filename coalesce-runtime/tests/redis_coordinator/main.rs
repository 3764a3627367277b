//! The Redis coordinator against real servers: what is specific to Redis, and what it does in trouble.
//!
//! Each test starts its own `redis-server` on a free loopback port.

mod cluster;
mod listening;
mod oracle;
mod reading;
mod scripts;
mod server;
mod starting;
mod trouble;
