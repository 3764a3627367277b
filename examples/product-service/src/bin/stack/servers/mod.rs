//! The servers of the stack: each private, on a free port of loopback.

mod nginx;
mod postgres;
mod prometheus;
mod redis;
mod replica;

pub use nginx::Nginx;
pub use postgres::Postgres;
pub use prometheus::{Alarm, Prometheus};
pub use redis::Redis;
pub use replica::{Replica, Settings};
