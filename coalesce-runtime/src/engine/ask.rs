//! Questions and answers: what is asked of a coordinator, and what it can say.

use std::time::Duration;

use bytes::Bytes;

#[cfg(any(feature = "axum", feature = "cli"))]
use crate::format::envelope::Status;
use crate::format::envelope::{Envelope, Seen};
use crate::format::traceparent::Traceparent;
use crate::words::clock::ServerTime;
use crate::words::key::Key;
use crate::words::token::Token;

/// BEGIN: look at the state again, then try the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginAsk {
    /// The asker's token: it owns the lock if the answer is [`BeginAnswer::Lead`].
    pub token: Token,
    /// How long the lock lives without a renewal.
    pub lease: Duration,
    /// The state the asker has already seen and does not want. `None`: whatever is there now.
    pub seen: Option<Seen>,
    /// The flight the asker follows; it goes on following that one even when it is fenced.
    pub following: Option<Token>,
    /// The trace that the asker is part of. The lock tells those who follow, should they never have an outcome.
    pub trace: Option<Traceparent>,
}

/// The answer to BEGIN. The role is said here and never inferred afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeginAnswer {
    /// There is another outcome than the one the asker had seen.
    State(Bytes),
    /// The asker leads: the lock holds its token. It may have led already, when an earlier answer was lost.
    Lead {
        /// The state at the election.
        seen: Seen,
    },
    /// Another flight is in progress.
    Follow {
        /// Its token.
        leader: Token,
        /// What is left of its lease.
        lease_left: Duration,
        /// The state below which the asker joined.
        seen: Seen,
        /// The trace that the leader was part of when it asked, if it said so.
        trace: Option<Traceparent>,
    },
}

/// RENEW: the owner is alive; give its lock its full lease again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewAsk {
    /// Whose lock.
    pub key: Key,
    /// The owner.
    pub token: Token,
    /// The state at the owner's election.
    pub seen: Seen,
    /// The new lease.
    pub lease: Duration,
    /// Until when a lock that is gone may be taken again, on the coordinator's clock: the question may arrive late.
    pub retake_until: ServerTime,
}

/// The answer to RENEW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewAnswer {
    /// The lock is held for another lease. It may have been gone (Redis restarted, evicted) and
    /// was taken again, because nothing had happened in between.
    Held,
    /// Held, but fenced: the outcome will not be retained.
    Fenced {
        /// Since when.
        at: ServerTime,
    },
    /// The lock is gone, or another flight's.
    Lost,
}

/// FINISH: store the outcome, delete the lock, publish; only while the lock holds the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishAsk {
    /// The outcome. Its time is the leader's own estimate of when the body ended, on the server's
    /// clock and not too late; zero where it has none. The coordinator stamps what it believes.
    pub envelope: Envelope,
    /// How long ago the body ended.
    pub ended_ago: Duration,
    /// How long the state lives.
    pub life: Duration,
    /// The state at the flight's election.
    pub seen: Seen,
    /// Until when a lock that is merely gone may be taken again, on the coordinator's clock: `pending_ttl` has not
    /// passed by then, and another's outcome would still be there. The question may arrive late. Zero: not at all, since
    /// the asker never heard that it leads.
    pub retake_until: ServerTime,
    /// When the body began, on the coordinator's clock and not too late, for an asker that may have been elected behind
    /// that: its BEGIN was never answered, or may have been done once more. A state of then or later is newer than the
    /// outcome. `None`: the body began behind the election, and the lock tells enough.
    pub began: Option<ServerTime>,
    /// A failure leaves a stored value where it is and pauses its refreshes, at first for this long.
    /// `None`: a failure is stored like any outcome.
    pub spare_value: Option<Duration>,
}

impl FinishAsk {
    /// Until when those who had joined may take the outcome, when the lock is fenced since `at`.
    ///
    /// A lock that nobody was heard to grant may be younger than its body, and than an invalidation which it was too
    /// late to be fenced by.
    pub(super) fn unfenced_until(&self, at: ServerTime) -> ServerTime {
        let unheard = self.retake_until == ServerTime::default();
        self.began
            .filter(|_| unheard)
            .map_or(at, |began| at.min(began))
    }
}

/// The answer to FINISH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishAnswer {
    /// The outcome is the key's state now.
    Stored,
    /// A refresh failed: the stored value stays, and the next refresh waits.
    Spared,
    /// The flight had been fenced: published to those who had joined it by then, not stored.
    Fenced {
        /// Since when.
        at: ServerTime,
    },
    /// The lock was another flight's, or gone: nothing was written and nobody was told.
    Lost,
}

/// ABANDON: free the lock without an outcome, and say so; only while it holds the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbandonAsk {
    /// The flight.
    pub token: Token,
    /// Whether its body ended without an outcome, by a panic. Who follows tries no third such body. Otherwise the flight
    /// gives way: its process shuts down, never heard that it leads, or whoever was to run the body has gone away.
    pub body_failed: bool,
}

impl AbandonAsk {
    /// A flight whose body ended without an outcome.
    pub const fn body_failed(token: Token) -> Self {
        let body_failed = true;
        Self { token, body_failed }
    }

    /// A flight that leaves its body, or its place, to another.
    pub const fn gives_way(token: Token) -> Self {
        let body_failed = false;
        Self { token, body_failed }
    }
}

/// REPLACE: put a state in place from outside any flight, and fence the flight in progress.
///
/// Invalidation replaces by "no outcome", `put` by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaceAsk {
    /// The new state. The coordinator stamps its time.
    pub envelope: Envelope,
    /// How long it lives.
    pub life: Duration,
}

#[cfg(any(feature = "axum", feature = "cli"))]
impl ReplaceAsk {
    /// An invalidation by somebody who does not know the key's call site: its mark outlives any flight of a day.
    pub(crate) fn invalidation() -> Self {
        let token = Token::random();
        let (none, span) = (Bytes::new(), Duration::ZERO);
        Self {
            envelope: Envelope::new(Status::Invalidated, 0, token, span, none),
            life: Duration::from_hours(24),
        }
    }
}
