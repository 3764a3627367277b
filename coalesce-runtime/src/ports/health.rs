//! Health: how a coordinator is at a moment, for those who watch over it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::words::fault::Fault;

/// How a coordinator is at a moment. Asking costs no round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoordinatorHealth {
    /// All connections are up. Of a cluster: those to all primaries, and every slot has one. While it is false for the
    /// sake of one of them, the keys of the others are shared as ever.
    pub connected: bool,
    /// Followers are told when a flight ends, whatever its key. When not, they find out by polling.
    pub subscribed: bool,
    /// Whether questions are asked at all. Of several breakers the one that is worst.
    pub breaker: BreakerState,
    /// The last fault met by any question, or by a connection. It stays when everything is well again.
    pub last_fault: Option<LastFault>,
    /// How often a reply or a message was another key's or another request's. Each was discarded.
    pub misrouted: u64,
}

/// Whether questions to a coordinator are asked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// They are.
    #[default]
    Closed,
    /// The last ones got no answer. The next is a trial.
    HalfOpen,
    /// The last ones got no answer. For a moment they end in [`Fault::Paused`] at once, and bodies run.
    Open,
}

/// A fault, and how long ago it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFault {
    /// Why there was no answer.
    pub fault: Fault,
    /// How long ago that was.
    pub ago: Duration,
}

impl CoordinatorHealth {
    /// A coordinator that is well, and has never been otherwise.
    pub const fn sound() -> Self {
        Self {
            connected: true,
            subscribed: true,
            breaker: BreakerState::Closed,
            last_fault: None,
            misrouted: 0,
        }
    }
}

impl BreakerState {
    /// A stable name for metrics and logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}
