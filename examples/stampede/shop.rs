//! The service under stampede: one slow function that all callers of all pods want at once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coalesce::{Coalescer, coalesce};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;

/// What a pod serves. Clones are one shop.
#[derive(Clone)]
pub struct Shop {
    pub coalescer: Coalescer,
    pub ledger: Arc<Ledger>,
    pub body: Duration,
    pub fails: bool,
}

/// Says which execution made an outcome, of which order and in which run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub order: u64,
    pub run: String,
    pub execution: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub stamp: Stamp,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum OrderError {
    /// The body's own error.
    Down(Stamp),
    /// What the library could not share.
    Unshared(String),
}

impl Shop {
    /// The function of the demo. `STAMPEDE_RUN` gives each run entries of its own, and
    /// `STAMPEDE_COALESCE` makes the runs before and after: the code is the same.
    #[coalesce(
        key = order,
        namespace = "${STAMPEDE_RUN:stampede}",
        fresh_ttl = "30s",
        enabled = "${STAMPEDE_COALESCE:true}",
        coalescer = self.coalescer,
    )]
    pub async fn get_order(&self, order: u64) -> Result<Order, OrderError> {
        let stamp = self.ledger.start(order);
        tokio::time::sleep(self.body).await;
        self.ledger.end(&stamp);
        if self.fails {
            Err(OrderError::Down(stamp))
        } else {
            Ok(Order { stamp })
        }
    }

    /// One flight of a key that nobody else has, so that the figures show a pod that has been
    /// running for a while: connected, with its scripts known to the server.
    #[coalesce(key = pod, namespace = "stampede-warm-up", coalescer = self.coalescer)]
    pub async fn warm_up(&self, pod: usize) -> usize {
        pod
    }
}

impl From<coalesce::Error> for OrderError {
    fn from(error: coalesce::Error) -> Self {
        Self::Unshared(error.to_string())
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down(stamp) => write!(f, "the warehouse of order {} is down", stamp.order),
            Self::Unshared(message) => f.write_str(message),
        }
    }
}
