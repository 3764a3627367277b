//! The acceptance, case by case. Each begins with every key cold, no faults and no limit.

mod counters;
mod failing;
mod limiting;
mod observing;
mod serving;
mod sharing;

use std::pin::Pin;

use anyhow::Result;

use crate::stack::Stack;
use crate::verdict::Row;

type Played<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A case: its short name, what it is, and how it is played.
pub struct Case {
    pub name: &'static str,
    pub what: &'static str,
    play: for<'a> fn(&'a mut Stack, &'a mut Row) -> Played<'a>,
}

macro_rules! cases {
    ($($name:literal, $what:literal, $play:path;)*) => {
        &[$(Case { name: $name, what: $what, play: |stack, row| Box::pin($play(stack, row)) },)*]
    };
}

/// In this order, since the last ones look at what the others have left behind.
pub const CASES: &[Case] = cases! {
    "cold", "300 requests, cold key, D 100 ms", sharing::cold;
    "missing", "300 requests, missing product, D 100 ms", sharing::missing;
    "slow", "300 requests, D 800 ms", sharing::slow;
    "slower", "60 requests, D 6 s: longer than the proxy's patience", sharing::slower;
    "warm", "300 requests, warm", sharing::warm;
    "burst", "1,000 requests/s for 1 s, cold key, D 20 ms", sharing::thousand;
    "update", "PUT while a read is in flight, D 2 s", sharing::update;
    "leader", "leading replica killed in the read, D 1 s", failing::leader;
    "database", "300 requests, the database fails, D 1 s", failing::database;
    "postgres", "300 requests, PostgreSQL crashed", failing::postgres;
    "redis", "Redis killed", failing::redis;
    "limit", "limit 100 / 10 s, 300 requests", limiting::limit;
    "waiting", "2,000 requests wait at one replica with 2 workers", serving::waiting;
    "drained", "one replica stopped (SIGTERM) under 200 requests/s", serving::drained;
    "killed", "one replica killed (SIGKILL) under 200 requests/s", serving::killed;
    "counters", "counters, summed over the replicas", counters::add_up;
    "metrics", "Prometheus: targets, alarms, every query of the dashboards", observing::metrics;
};

impl Case {
    /// Plays it. What goes wrong on the way is a figure that fails.
    pub async fn play(&self, stack: &mut Stack) -> Row {
        let mut row = Row::new(self.name, self.what);
        let played = match stack.reset().await {
            Ok(()) => (self.play)(stack, &mut row).await,
            Err(error) => Err(error.context("the stack could not be reset")),
        };
        if let Err(error) = played {
            row.broken(&error);
        }
        row
    }
}

/// The address of a product, at the front or at a replica.
fn product(base: &str, id: u64) -> String {
    format!("{base}/api/v1/products/{id}")
}
