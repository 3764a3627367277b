//! The counters of this replica, and how they add up.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::{Replica, Shared};
use crate::limiter::Decisions;

/// What this replica has counted since it started. At rest, also summed over replicas:
/// `requests = hits + misses`, `misses = led + followed`, `led = reads + double_check_hits`.
///
/// Each equation compares countings that know nothing of each other: requests are counted where they are answered,
/// reads where the database is asked, and the library counts how its calls ended and how often it ran the body.
/// In the middle one a client is missing that hung up while it waited: nobody knows what it would have got, so it is
/// among the misses and the `cancelled`, and has not followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Which replica this is.
    pub instance: String,
    /// Product reads that found out whether the product was cached.
    pub requests: u64,
    /// It was.
    pub hits: u64,
    /// It was not.
    pub misses: u64,
    /// Misses that won: they read the database, or found the product at the second look.
    pub led: u64,
    /// Misses that were answered by somebody else's read, or gave up waiting for it.
    pub followed: u64,
    /// Reads of the database.
    pub reads: u64,
    /// Winners that found the product there after all: the lock and the second look are one question to Redis.
    pub double_check_hits: u64,
    /// Misses that gave up waiting.
    pub waits_timed_out: u64,
    /// Misses whose client hung up. Those of them that led are among the winners as well.
    pub cancelled: u64,
    /// Product reads that found no such product.
    pub not_found: u64,
    /// Reads of the database for this replica alone, because Redis gave no answer.
    pub fail_open: u64,
    /// Product reads without an answer: Redis gave none, or read after read panicked. Not among the requests.
    pub refused: u64,
    /// What became of requests at the limiter.
    pub limiter: Decisions,
    /// How much longer a read takes on purpose.
    pub database_delay_ms: u64,
}

pub(super) async fn status(State(replica): Shared) -> Json<Status> {
    Json(Status::of(&replica))
}

impl Status {
    fn of(replica: &Replica) -> Self {
        let page = replica
            .coalescer
            .snapshot_of("products")
            .unwrap_or_default();
        let outcomes = page.outcomes;
        let hits = outcomes.fresh + outcomes.stale;
        let misses = outcomes.total() - outcomes.failed - hits;
        let double_check_hits = page.incidents.double_check_hits;
        // Counted by bodies and not by callers: a client that goes away ends its call, and not the read.
        let led = page.executions.total() + page.bypassed.total() + double_check_hits;
        Self {
            instance: replica.config.instance.clone(),
            requests: replica.requests.load(Ordering::Relaxed),
            hits,
            misses,
            led,
            // Who found the product at the second look has followed its flight, too, and may not be counted twice.
            // While calls are in progress, that look may be counted before its call is.
            followed: (outcomes.followed + outcomes.timed_out).saturating_sub(double_check_hits),
            reads: replica.faults.reads(),
            double_check_hits,
            waits_timed_out: outcomes.timed_out,
            cancelled: outcomes.cancelled,
            not_found: replica.not_found.load(Ordering::Relaxed),
            fail_open: page.executions.fail_open,
            refused: outcomes.failed,
            limiter: replica.limiter.decisions(),
            database_delay_ms: replica.faults.now().database_delay_ms,
        }
    }
}
