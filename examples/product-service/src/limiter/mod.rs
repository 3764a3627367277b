//! The rate limiter: a fixed window in Redis that all replicas count in.
//!
//! A fixed window lets twice the limit through around its end: a burst just before and a burst just after.
//! Who cannot have that needs a sliding window, which costs Redis an entry per request.

mod client;
mod silence;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{RedisError, Script};
use serde::{Deserialize, Serialize};

pub use client::client_of;
use silence::{PATIENCE, Silence};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is within the limit.
    Allowed,
    /// It is not; another try makes sense after so many seconds.
    Rejected {
        /// For `Retry-After`.
        retry_after: u64,
    },
    /// Redis gave no answer. A limiter that is down is no reason for a service that is.
    FailedOpen,
}

/// How many requests may come in which time. A limit of 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Requests in one window.
    pub limit: u64,
    /// The window's length.
    pub window_ms: u64,
}

impl Limit {
    /// Checks the window's length. A limit of 0 has a window all the same.
    ///
    /// # Errors
    ///
    /// What is right.
    pub const fn check(&self) -> Result<(), &'static str> {
        match self.window_ms {
            1..=86_400_000 => Ok(()),
            _ => Err("a window is from a millisecond to a day"),
        }
    }
}

/// How many requests met which decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Within the limit.
    pub allowed: u64,
    /// Beyond it.
    pub rejected: u64,
    /// Let through because Redis gave no answer.
    pub failed_open: u64,
}

/// The limiter of one replica.
pub struct Limiter {
    redis: ConnectionManager,
    script: Script,
    silence: Silence,
    limit: AtomicU64,
    window_ms: AtomicU64,
    allowed: AtomicU64,
    rejected: AtomicU64,
    failed_open: AtomicU64,
}

impl Limiter {
    /// A limiter that counts in the Redis at `url`, and that lets requests through uncounted when Redis has been silent
    /// for `deadline`, a new connection included. It connects when it is first asked, and again whenever the
    /// connection is lost.
    ///
    /// # Errors
    ///
    /// When the URL is none that the client understands.
    pub fn new(url: &str, limit: Limit, deadline: Duration) -> Result<Self, RedisError> {
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(deadline))
            .set_response_timeout(Some(deadline * PATIENCE))
            // The next request tries again; this one would only wait for what is not there.
            .set_number_of_retries(0);
        let client = redis::Client::open(url)?;
        Ok(Self {
            redis: ConnectionManager::new_lazy_with_config(client, config)?,
            script: Script::new(include_str!("window.lua")),
            silence: Silence::of(deadline),
            limit: limit.limit.into(),
            window_ms: limit.window_ms.into(),
            allowed: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            failed_open: AtomicU64::new(0),
        })
    }

    /// Connects, and brings the script to Redis: the first burst finds both there. It is tried once.
    pub async fn warm_up(&self) {
        let mut redis = self.redis.clone();
        let loaded = self
            .silence
            .answer(self.script.load_async(&mut redis))
            .await;
        if loaded.is_none() {
            tracing::warn!("the limiter is open: its Redis gives no answer");
        }
    }

    /// Decides about one request: of everybody, or of this client. One round trip, none without a limit.
    pub async fn decide(&self, client: Option<IpAddr>) -> Decision {
        let Limit { limit, window_ms } = self.limit();
        if limit == 0 {
            return Decision::Allowed;
        }
        let decision = match self.silence.answer(self.count(client, window_ms)).await {
            Some((count, left_ms)) => within(limit, count, left_ms),
            None => Decision::FailedOpen,
        };
        self.note(decision);
        decision
    }

    /// The limit at the moment.
    pub fn limit(&self) -> Limit {
        Limit {
            limit: self.limit.load(Ordering::Relaxed),
            window_ms: self.window_ms.load(Ordering::Relaxed),
        }
    }

    /// Another limit, for this replica. A window that has begun keeps its end.
    pub fn set_limit(&self, limit: Limit) {
        self.limit.store(limit.limit, Ordering::Relaxed);
        self.window_ms.store(limit.window_ms, Ordering::Relaxed);
    }

    /// What has been decided so far.
    pub fn decisions(&self) -> Decisions {
        Decisions {
            allowed: self.allowed.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
            failed_open: self.failed_open.load(Ordering::Relaxed),
        }
    }

    async fn count(
        &self,
        client: Option<IpAddr>,
        window_ms: u64,
    ) -> Result<(u64, u64), RedisError> {
        let mut redis = self.redis.clone();
        let mut script = self.script.key(key_of(client));
        script.arg(window_ms).invoke_async(&mut redis).await
    }

    fn note(&self, decision: Decision) {
        let (count, label) = match decision {
            Decision::Allowed => (&self.allowed, "allowed"),
            Decision::Rejected { .. } => (&self.rejected, "rejected"),
            Decision::FailedOpen => (&self.failed_open, "failed_open"),
        };
        count.fetch_add(1, Ordering::Relaxed);
        metrics::counter!("product_limiter_total", "decision" => label).increment(1);
    }
}

impl std::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limiter")
            .field("limit", &self.limit())
            .finish_non_exhaustive()
    }
}

/// Where a window is counted: one for everybody, or one for each client.
fn key_of(client: Option<IpAddr>) -> String {
    match client {
        None => "product-service:limit:all".to_owned(),
        Some(address) => format!("product-service:limit:client:{address}"),
    }
}

/// What becomes of the request that was the `count`th of a window with `left_ms` to go.
const fn within(limit: u64, count: u64, left_ms: u64) -> Decision {
    if count <= limit {
        return Decision::Allowed;
    }
    // Rounded up: who comes after these seconds finds a new window.
    let retry_after = left_ms.div_ceil(1000);
    Decision::Rejected {
        retry_after: if retry_after == 0 { 1 } else { retry_after },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(150);

    #[test]
    fn a_window_lets_its_limit_through_and_no_more() {
        assert_eq!(within(3, 1, 10_000), Decision::Allowed);
        assert_eq!(within(3, 3, 10_000), Decision::Allowed);
        let rejected = Decision::Rejected { retry_after: 10 };
        assert_eq!(within(3, 4, 10_000), rejected);
        assert_eq!(within(3, u64::MAX, 10_000), rejected);
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        for (left_ms, retry_after) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (9001, 10)] {
            let expected = Decision::Rejected { retry_after };
            assert_eq!(within(1, 2, left_ms), expected, "{left_ms} ms");
        }
    }

    #[test]
    fn each_client_is_counted_by_itself() {
        let keys = [None, Some("10.0.0.1"), Some("10.0.0.2"), Some("2001:db8::")]
            .map(|client| key_of(client.map(|address| address.parse().unwrap())));
        assert_eq!(
            keys,
            [
                "product-service:limit:all",
                "product-service:limit:client:10.0.0.1",
                "product-service:limit:client:10.0.0.2",
                "product-service:limit:client:2001:db8::",
            ]
        );
    }

    #[tokio::test]
    async fn a_limiter_without_its_redis_lets_requests_through_and_counts_them() {
        let one = Limit {
            limit: 1,
            window_ms: 10_000,
        };
        // Nobody listens on port 1.
        let limiter = Limiter::new("redis://127.0.0.1:1/", one, DEADLINE).unwrap();
        for _ in 0..3 {
            let begun = Instant::now();
            assert_eq!(limiter.decide(None).await, Decision::FailedOpen);
            assert!(begun.elapsed() < 5 * DEADLINE, "{:?}", begun.elapsed());
        }
        let expected = Decisions {
            failed_open: 3,
            ..Decisions::default()
        };
        assert_eq!(limiter.decisions(), expected);
    }

    #[tokio::test]
    async fn without_a_limit_nobody_is_asked() {
        let none = Limit {
            limit: 0,
            window_ms: 10_000,
        };
        let limiter = Limiter::new("redis://127.0.0.1:1/", none, DEADLINE).unwrap();
        assert_eq!(limiter.decide(None).await, Decision::Allowed);
        assert_eq!(limiter.decisions(), Decisions::default());
    }
}
