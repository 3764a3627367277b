//! Following: what one process does from its first BEGIN until it leads, has an outcome, or gives up on the coordinator.
//!
//! The follower is told what happened and says what to do next. It never waits or asks by itself.

use std::time::Duration;

use bytes::Bytes;

use super::ask::{BeginAnswer, BeginAsk};
use super::poll::PollPlan;
use crate::format::envelope::{Envelope, Seen, Status};
use crate::format::message::Message;
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
    lease_left: Duration,
    polls: u32,
    faults: u32,
    abandoned: u32,
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
    /// Flight after flight was abandoned: it is the body that does not work.
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

/// After this many abandoned flights a follower stops trying.
pub(crate) const ABANDONED_AT_MOST: u32 = 2;

impl Follower {
    /// A failed poll is asked once more; a second failure in a row means the coordinator is in trouble.
    const FAULTS_TOLERATED: u32 = 1;

    /// A process that has nothing yet but `seen`, the state it does not want (`None`: whatever is there).
    pub(crate) fn new(
        key: Key,
        token: Token,
        lease: Duration,
        plan: PollPlan,
        seen: Option<Seen>,
    ) -> Self {
        Self {
            key,
            token,
            lease,
            plan,
            seen,
            leader: None,
            lease_left: lease,
            polls: 0,
            faults: 0,
            abandoned: 0,
        }
    }

    /// The question it asks now.
    pub(crate) fn ask(&self) -> Step {
        Step::Ask(BeginAsk {
            token: self.token,
            lease: self.lease,
            seen: self.seen,
            following: self.leader,
        })
    }

    /// BEGIN was answered. `jitter` is a random number from 0 to 1.
    pub(crate) fn answered(&mut self, answer: BeginAnswer, jitter: f64) -> Step {
        self.faults = 0;
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
            } => {
                self.leader = Some(leader);
                self.lease_left = lease_left;
                self.seen = Some(seen);
                self.wait(jitter)
            }
        }
    }

    /// The state was read.
    pub(crate) fn looked(&mut self, state: Option<&Bytes>) -> Step {
        self.faults = 0;
        self.outcome_or(state, |_| Step::KeepWaiting)
    }

    /// A message came.
    pub(crate) fn heard(&mut self, message: Message) -> Step {
        match message {
            Message::Outcome {
                envelope,
                fenced_at: Some(at),
            } if Some(envelope.token) == self.leader => Step::Settle(Arrived {
                // A fence may come behind the end of the body.
                for_arrivals_until: at.min(envelope.computed_at),
                envelope,
            }),
            Message::Outcome {
                envelope,
                fenced_at: None,
            } if self.is_news(envelope.token.into()) => settle(envelope),
            Message::Stored { token } if self.is_news(token.into()) => Step::Look,
            Message::Abandoned { token } if Some(token) == self.leader => self.abandoned(),
            _ => Step::KeepWaiting,
        }
    }

    fn abandoned(&mut self) -> Step {
        self.abandoned += 1;
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

    /// A question got no answer.
    pub(crate) fn failed(&mut self, fault: Fault, jitter: f64) -> Step {
        self.faults += 1;
        let following = self.leader.is_some();
        if following && self.faults <= Self::FAULTS_TOLERATED {
            self.wait(jitter)
        } else {
            Step::GiveUp(fault)
        }
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
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(3);
    const ME: Token = Token::from_bytes([1; 16]);
    const LEADER: Token = Token::from_bytes([2; 16]);
    const OLD: Token = Token::from_bytes([3; 16]);
    const OTHER: Token = Token::from_bytes([4; 16]);

    fn key() -> Key {
        Key::new("shop::get_order", &[&42])
    }

    fn envelope(token: Token) -> Envelope {
        let computed_at = ServerTime::from_micros(5_000);
        Envelope {
            computed_at,
            ..Envelope::new(Status::Done, 1, token, LEASE, Bytes::from_static(b"\x07"))
        }
    }

    fn outcome(token: Token, fenced_at: Option<u64>) -> Message {
        Message::Outcome {
            envelope: envelope(token),
            fenced_at: fenced_at.map(ServerTime::from_micros),
        }
    }

    fn follower() -> Follower {
        let mut follower = Follower::new(key(), ME, LEASE, PollPlan::default(), Some(OLD.into()));
        let answer = BeginAnswer::Follow {
            leader: LEADER,
            lease_left: LEASE,
            seen: OLD.into(),
        };
        assert_eq!(
            follower.answered(answer, 0.0),
            Step::Wait(Duration::from_millis(50))
        );
        follower
    }

    #[test]
    fn the_role_is_taken_from_the_answer() {
        let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), None);
        let lead = BeginAnswer::Lead {
            seen: Seen::NOTHING,
        };
        assert_eq!(
            fresh.answered(lead, 0.0),
            Step::Lead {
                seen: Seen::NOTHING,
                takeover: false
            }
        );
    }

    #[test]
    fn a_follower_takes_over_when_the_lease_has_ended() {
        let step = follower().answered(BeginAnswer::Lead { seen: OLD.into() }, 0.0);
        assert_eq!(
            step,
            Step::Lead {
                seen: OLD.into(),
                takeover: true
            }
        );
    }

    #[test]
    fn the_leaders_outcome_settles_and_the_old_one_does_not() {
        assert!(matches!(
            follower().heard(outcome(LEADER, None)),
            Step::Settle(_)
        ));
        assert_eq!(follower().heard(outcome(OLD, None)), Step::KeepWaiting);
    }

    #[test]
    fn another_flights_retained_outcome_settles_too() {
        assert!(matches!(
            follower().heard(outcome(OTHER, None)),
            Step::Settle(_)
        ));
    }

    #[test]
    fn a_fenced_outcome_is_for_those_who_followed_that_flight_by_then() {
        for (fenced, until) in [(4_000, 4_000), (6_000, 5_000)] {
            let Step::Settle(arrived) = follower().heard(outcome(LEADER, Some(fenced))) else {
                panic!("not settled")
            };
            assert_eq!(arrived.for_arrivals_until.as_micros(), until);
        }
        assert_eq!(
            follower().heard(outcome(OTHER, Some(4_000))),
            Step::KeepWaiting
        );
    }

    #[test]
    fn an_outcome_too_big_for_a_message_is_read() {
        let mut follower = follower();
        assert_eq!(
            follower.heard(Message::Stored { token: LEADER }),
            Step::Look
        );
        let state = envelope(LEADER).encode(&key());
        assert!(matches!(follower.looked(Some(&state)), Step::Settle(_)));
    }

    #[test]
    fn only_the_leader_it_follows_makes_it_ask_again_when_abandoned() {
        assert!(matches!(
            follower().heard(Message::Abandoned { token: LEADER }),
            Step::Ask(_)
        ));
        assert_eq!(
            follower().heard(Message::Abandoned { token: OTHER }),
            Step::KeepWaiting
        );
    }

    #[test]
    fn after_two_abandoned_flights_it_stops_trying() {
        let mut follower = follower();
        follower.heard(Message::Abandoned { token: LEADER });
        let next = BeginAnswer::Follow {
            leader: OTHER,
            lease_left: LEASE,
            seen: OLD.into(),
        };
        follower.answered(next, 0.0);
        assert_eq!(
            follower.heard(Message::Abandoned { token: OTHER }),
            Step::StopTrying
        );
    }

    #[test]
    fn a_gap_is_closed_by_asking() {
        assert!(matches!(follower().missed(), Step::Ask(_)));
    }

    #[test]
    fn the_second_look_finds_what_ended_before_the_subscription() {
        let state = envelope(LEADER).encode(&key());
        assert!(matches!(follower().looked(Some(&state)), Step::Settle(_)));
        let old = envelope(OLD).encode(&key());
        assert_eq!(follower().looked(Some(&old)), Step::KeepWaiting);
        assert_eq!(follower().looked(None), Step::KeepWaiting);
    }

    #[test]
    fn an_unreadable_state_is_passed_over_at_the_next_election() {
        let garbage = Bytes::from_static(&[9; 60]);
        let mut follower = follower();
        let Step::Ask(ask) = follower.answered(BeginAnswer::State(garbage.clone()), 0.0) else {
            panic!("no ask")
        };
        assert_eq!(ask.seen, Some(Seen::of_state(Some(&garbage))));
    }

    #[test]
    fn one_failed_poll_is_forgiven_and_a_second_in_a_row_is_not() {
        let mut follower = follower();
        assert!(matches!(
            follower.failed(Fault::Timeout, 0.0),
            Step::Wait(_)
        ));
        assert_eq!(
            follower.failed(Fault::Timeout, 0.0),
            Step::GiveUp(Fault::Timeout)
        );
    }

    #[test]
    fn a_first_question_without_an_answer_gives_up_at_once() {
        let mut fresh = Follower::new(key(), ME, LEASE, PollPlan::default(), None);
        assert_eq!(
            fresh.failed(Fault::Disconnected, 0.0),
            Step::GiveUp(Fault::Disconnected)
        );
    }
}
