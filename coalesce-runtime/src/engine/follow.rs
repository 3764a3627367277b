//! Following: what one process does from its first BEGIN until it leads, has an outcome, or gives up on the coordinator.
//!
//! The follower is told what happened and says what to do next. It never waits or asks by itself.

use std::time::Duration;

use bytes::Bytes;

use super::ask::{BeginAnswer, BeginAsk};
use super::poll::PollPlan;
use crate::format::envelope::{Envelope, Seen, Status};
use crate::format::message::Message;
use crate::format::traceparent::Traceparent;
use crate::words::clock::ServerTime;
use crate::words::fault::Fault;
use crate::words::key::Key;
use crate::words::token::Token;

/// One process's side of the flight of one key.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    key: Key,
    token: Token,
    lease: Duration,
    plan: PollPlan,
    seen: Option<Seen>,
    leader: Option<Token>,
    /// The trace that the leader said to be part of.
    led_in: Option<Traceparent>,
    /// The trace that this process would lead in.
    trace: Option<Traceparent>,
    lease_left: Duration,
    polls: u32,
    /// How long it believes in its leader while its questions get no answer.
    patience: Duration,
    /// The last flight that is known to have been abandoned.
    gone: Option<Token>,
    abandoned: u32,
    /// Whether it has met a state that cannot be read, and nobody has been told.
    met_unreadable: bool,
    /// The same of a fence around the flight that it follows.
    met_fence: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask BEGIN: for the first time, or as a poll. It touches the lock, so an ended lease is taken over in the same step.
    Ask(BeginAsk),
    /// Read the state.
    Look,
    /// Wait for a notice, at most this long; then poll.
    Wait(Duration),
    /// The same, with no more than the ear it has: there may be nobody who would answer.
    AskAgainIn(Duration),
    /// Go on waiting until the poll that was set before.
    KeepWaiting,
    /// This process leads.
    Lead {
        /// The state at the election.
        seen: Seen,
        /// Whether it had followed another leader before.
        takeover: bool,
    },
    /// Here is the outcome.
    Settle(Arrived),
    /// Flight after flight was abandoned by its body: that does not work.
    StopTrying,
    /// There is nobody to coordinate with.
    GiveUp(Fault),
}

/// An outcome that reached a follower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The outcome.
    pub envelope: Envelope,
    /// It is for callers that had arrived by this moment, on the server's clock.
    pub for_arrivals_until: ServerTime,
}

/// After this many flights whose bodies brought no outcome a follower stops trying.
pub(crate) const ABANDONED_AT_MOST: u32 = 2;

impl Follower {
    /// How long it waits before it asks again, at most, when a question came back without an answer. It is shorter
    /// than any poll: a connection that was cut is there again soon, and by then an outcome may have been missed.
    const RETRY: Duration = Duration::from_millis(100);

    /// A process that has nothing yet but `seen`, the state it does not want (`None`: whatever is there).
    pub(crate) fn new(
        key: Key,
        token: Token,
        lease: Duration,
        plan: PollPlan,
        patience: Duration,
        seen: Option<Seen>,
    ) -> Self {
        Self {
            key,
            token,
            lease,
            plan,
            seen,
            leader: None,
            led_in: None,
            trace: None,
            lease_left: lease,
            polls: 0,
            patience,
            gone: None,
            abandoned: 0,
            met_unreadable: false,
            met_fence: false,
        }
    }

    /// The same, as part of a trace.
    pub(crate) const fn traced(mut self, trace: Option<Traceparent>) -> Self {
        self.trace = trace;
        self
    }

    /// The trace that the leader it follows said to be part of.
    pub(crate) const fn led_in(&self) -> Option<Traceparent> {
        self.led_in
    }

    /// The question it asks now.
    pub(crate) fn ask(&self) -> Step {
        Step::Ask(BeginAsk {
            token: self.token,
            lease: self.lease,
            seen: self.seen,
            following: self.leader,
            trace: self.trace,
        })
    }

    /// BEGIN was answered. `jitter` is a random number from 0 to 1.
    pub(crate) fn answered(&mut self, answer: BeginAnswer, jitter: f64) -> Step {
        match answer {
            BeginAnswer::State(state) => self.outcome_or(Some(&state), Self::ask),
            BeginAnswer::Lead { seen } => Step::Lead {
                seen,
                takeover: self.leader.is_some(),
            },
            BeginAnswer::Follow {
                leader,
                lease_left,
                seen,
                trace,
            } => {
                // Of a flight in progress the state changes only when somebody replaces it. What has expired is not there.
                let replaced = seen != Seen::NOTHING && self.is_news(seen);
                self.met_fence |= replaced && self.leader == Some(leader);
                self.leader = Some(leader);
                self.led_in = trace;
                self.lease_left = lease_left;
                self.seen = Some(seen);
                self.wait(jitter)
            }
        }
    }

    /// Whether a lock that was granted for a question of so long ago may be gone. No question takes that long: the process
    /// has stood still.
    pub(crate) fn may_be_gone(&self, ago: Duration) -> bool {
        ago >= self.lease.max(self.patience)
    }

    /// Whether somebody else was at it when the lock was asked for.
    pub(crate) const fn has_followed(&self) -> bool {
        self.leader.is_some()
    }

    /// The state was read.
    pub(crate) fn looked(&mut self, state: Option<&Bytes>) -> Step {
        self.outcome_or(state, |_| Step::KeepWaiting)
    }

    /// A message came.
    pub(crate) fn heard(&mut self, message: Message) -> Step {
        match message {
            Message::Outcome {
                envelope,
                fenced_at: Some(at),
            } if Some(envelope.token) == self.leader => Step::Settle(Arrived {
                // A fence may come behind the end of the body, while FINISH is on its way.
                for_arrivals_until: at.min(envelope.computed_at),
                envelope,
            }),
            Message::Outcome {
                envelope,
                fenced_at: None,
            } if self.is_news(envelope.token.into()) => settle(envelope),
            Message::Stored { token } if self.is_news(token.into()) => Step::Look,
            // It may be told again, when its lock could not be freed at first.
            Message::Abandoned { token, body_failed }
                if Some(token) == self.leader && self.gone != self.leader =>
            {
                self.gone = self.leader;
                self.abandoned(body_failed)
            }
            _ => Step::KeepWaiting,
        }
    }

    fn abandoned(&mut self, body_failed: bool) -> Step {
        self.abandoned += u32::from(body_failed);
        if self.abandoned < ABANDONED_AT_MOST {
            self.ask()
        } else {
            Step::StopTrying
        }
    }

    /// Messages may have been missed.
    pub(crate) fn missed(&self) -> Step {
        self.ask()
    }

    /// A question got no answer, `silence` after the first of those in a row that got none was asked.
    ///
    /// As long as a leader is known to be there, it is believed in for a while: what broke is often there again at
    /// once, and to run the body beside the leader's would be a second execution.
    pub(crate) fn failed(&self, fault: Fault, silence: Duration, jitter: f64) -> Step {
        let followed = self.leader.filter(|_| self.leader != self.gone);
        if followed.is_none() || silence >= self.patience {
            return Step::GiveUp(fault);
        }
        let pause = match fault {
            // It has waited for that answer.
            Fault::Timeout => Duration::ZERO,
            _ => Self::RETRY.mul_f64(jitter.midpoint(1.0)),
        };
        Step::AskAgainIn(pause.min(self.patience.saturating_sub(silence)))
    }

    /// Whether it has met a state that cannot be read since this was asked last.
    pub(crate) const fn met_unreadable(&mut self) -> bool {
        std::mem::replace(&mut self.met_unreadable, false)
    }

    /// Whether it has met a fence around the flight that it follows since this was asked last: somebody has replaced
    /// the state, and no message told of that.
    pub(crate) const fn met_fence(&mut self) -> bool {
        std::mem::replace(&mut self.met_fence, false)
    }

    fn wait(&mut self, jitter: f64) -> Step {
        let pause = self.plan.pause(self.polls, self.lease_left, jitter);
        self.polls = self.polls.saturating_add(1);
        Step::Wait(pause)
    }

    fn is_news(&self, mark: Seen) -> bool {
        self.seen != Some(mark)
    }

    /// The state's outcome if it is news; otherwise what `or` says.
    ///
    /// A state that cannot be read is marked as seen, so that the next election passes over it.
    fn outcome_or(&mut self, state: Option<&Bytes>, or: impl FnOnce(&Self) -> Step) -> Step {
        let mark = Seen::of_state(state.map(|bytes| &bytes[..]));
        let Some(state) = state.filter(|_| self.is_news(mark)) else {
            return or(self);
        };
        match Envelope::decode(&self.key, state) {
            Ok(envelope) if envelope.status != Status::Invalidated => settle(envelope),
            Ok(_) => or(self),
            Err(_) => {
                self.met_unreadable = true;
                self.seen = Some(mark);
                self.ask()
            }
        }
    }
}

fn settle(envelope: Envelope) -> Step {
    let for_arrivals_until = envelope.computed_at;
    Step::Settle(Arrived {
        envelope,
        for_arrivals_until,
    })
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
