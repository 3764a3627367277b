//! The chase: what a driver carries from one question to the next, until it leads or has an outcome.

use std::time::Duration;

use super::core::Counted;
use super::heartbeat::{Election, Hold};
use crate::engine::follow::{Arrived, Follower, Step};
use crate::format::envelope::Seen;
use crate::ports::coordinator::{Listener, Notice};
use crate::words::clock::{Instant, ServerClock, now};
use crate::words::fault::Fault;
use crate::words::token::Token;

/// What a driver carries while it is after an outcome.
pub(super) struct Chase {
    pub(super) follower: Follower,
    pub(super) token: Token,
    pub(super) ear: Option<Listener>,
    /// Counts the last BEGIN, until what it won is in good hands.
    pub(super) asking: Option<Counted>,
    /// When the last BEGIN was about to be sent.
    pub(super) asked_at: Instant,
    /// The same of the last one that was answered.
    pub(super) followed_at: Instant,
    pub(super) poll_at: Instant,
    /// The lock that may have been won, when the answer to a BEGIN was lost.
    pub(super) granted: Option<Hold>,
    /// When the first of the questions in a row that got no answer was asked.
    pub(super) silent_since: Option<Instant>,
    /// Whether the next question is a poll.
    pub(super) poll_is_due: bool,
    /// Whether the last question was one.
    pub(super) polled: bool,
}

/// A message that has been under way for longer than this is not on its way any more.
const MESSAGE_IS_LATE: Duration = Duration::from_millis(20);

impl Chase {
    /// Listens no longer: an ear left open would fill up. What is left is the lock that may have been won.
    pub(super) fn end(self) -> Option<Hold> {
        self.granted
    }

    pub(super) fn failed(&mut self, fault: Fault, asked_at: Instant) -> Step {
        let silence = now() - *self.silent_since.get_or_insert(asked_at);
        self.follower.failed(fault, silence, fastrand::f64())
    }

    /// Whether a message should have told of this outcome, and a poll had to find it.
    pub(super) fn overslept(&self, arrived: &Arrived, clock: ServerClock) -> bool {
        let silent = self.ear.as_ref().is_some_and(|ear| !ear.has_news());
        let age = arrived.envelope.computed_at.until(clock.server_at(now()));
        self.polled && silent && age > MESSAGE_IS_LATE
    }

    pub(super) fn election(&self, seen: Seen) -> Election {
        Election {
            token: self.token,
            seen,
            asked_at: self.asked_at,
            confirmed: self.asked_at,
        }
    }
}

pub(super) async fn hear(ear: &mut Option<Listener>) -> Notice {
    match ear {
        Some(ear) => ear.next().await,
        None => std::future::pending().await,
    }
}
