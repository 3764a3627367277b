//! A caller of the modelled key: where it stands, and what it makes of answers and messages.

use bytes::Bytes;
use coalesce_runtime::coordination::{BeginAnswer, Envelope, Message, Seen, ServerTime, Token};

use crate::key;
use crate::setup::{Mistake, Setup};

/// One caller, with what the properties want to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    pub(crate) phase: Phase,
    /// When it came.
    pub(crate) arrived: ServerTime,
    /// How often it has changed its token.
    pub(crate) attempt: u8,
    /// Whether its last BEGIN has no answer, so that it may lead without knowing.
    pub(crate) unanswered: bool,
    /// Ticks spent waiting for others.
    pub(crate) waited: u8,
    /// What it has been told and has not heard yet.
    pub(crate) told: Vec<Bytes>,
    /// Flights whose outcome it must not get, by their number.
    pub(crate) barred: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// Has not come yet.
    Away,
    /// Has asked to begin and has no answer.
    Asking,
    Leading(Leading),
    Following(Following),
    /// Has the outcome of this flight.
    Answered {
        with: Token,
        how: How,
    },
    /// Has waited too long.
    TimedOut,
    /// Its process is dead, or its body has panicked.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leading {
    pub(crate) token: Token,
    pub(crate) seen: Seen,
    pub(crate) ran: u8,
    /// Ticks since it last knew that it held the lock.
    pub(crate) unsure_for: u8,
    /// It has stalled and is held to no time any more.
    pub(crate) stalled: bool,
    /// A beat is to be sent in this tick.
    pub(crate) beat_due: bool,
    /// When the body ended; whether that is recorded is not known yet.
    pub(crate) ended: Option<ServerTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Following {
    pub(crate) leader: Token,
    pub(crate) seen: Seen,
    /// A look is to be taken in this tick.
    pub(crate) look_due: bool,
}

/// How a caller came by its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum How {
    Led,
    /// Led, and was refused or fenced when it finished.
    LedInVain,
    Heard,
    Looked,
}

impl Leading {
    /// Whether a lock that is gone may be taken again: the longest time for a flight is not over, and
    /// no outcome can have come and expired since the leader last knew that the lock was its own.
    pub(crate) fn may_retake(&self, setup: &Setup) -> bool {
        let nothing_missed = self.unsure_for < setup.life;
        self.ran < setup.pending && (nothing_missed || setup.mistake == Some(Mistake::LateRetake))
    }
}

impl Caller {
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Away,
            arrived: ServerTime::from_micros(0),
            attempt: 0,
            unanswered: false,
            waited: 0,
            told: Vec::new(),
            barred: 0,
        }
    }

    /// The token of caller `number`.
    pub(crate) fn token(&self, number: usize) -> Token {
        let mut bytes = [0; Token::LEN];
        bytes[0] = number as u8 + 1;
        bytes[1] = self.attempt;
        Token::from_bytes(bytes)
    }

    /// Whether `token` is or was one of caller `number`'s.
    pub(crate) fn is_owner(number: usize, token: Token) -> bool {
        usize::from(token.as_bytes()[0]) == number + 1
    }

    /// Whether it has been here and will never act again.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.phase,
            Phase::Answered { .. } | Phase::TimedOut | Phase::Gone
        )
    }

    /// Whether time cannot pass before it has acted: this is what "in time" means in the model.
    pub(crate) fn is_due(&self, setup: &Setup) -> bool {
        match &self.phase {
            Phase::Asking => true,
            Phase::Leading(leading) => {
                let late = leading.ended.is_some()
                    || leading.ran >= setup.body
                    || setup.beats && leading.beat_due;
                late && !leading.stalled
            }
            Phase::Following(following) => following.look_due,
            _ => false,
        }
    }

    /// What an answer to BEGIN makes of a caller.
    pub(crate) fn begun(&mut self, token: Token, answer: BeginAnswer, mistake: Option<Mistake>) {
        match answer {
            BeginAnswer::State(bytes) => {
                let state = Envelope::decode(&key(), &bytes).expect("a state of this key");
                self.given(&state, None, How::Looked, mistake);
            }
            BeginAnswer::Lead { seen } => {
                self.phase = Phase::Leading(Leading {
                    token,
                    seen,
                    ran: 0,
                    unsure_for: 0,
                    stalled: false,
                    beat_due: false,
                    ended: None,
                });
            }
            BeginAnswer::Follow { leader, seen, .. } => {
                // The look behind the first answer closes the gap between BEGIN and the subscription.
                let look_due = self.phase == Phase::Asking;
                self.phase = Phase::Following(Following {
                    leader,
                    seen,
                    look_due,
                });
            }
        }
    }

    /// An outcome has reached it. It takes one of a flight that ended after it came, and that was not
    /// fenced before; otherwise it starts again.
    fn given(
        &mut self,
        outcome: &Envelope,
        fenced_at: Option<ServerTime>,
        how: How,
        mistake: Option<Mistake>,
    ) {
        let until = match mistake {
            Some(Mistake::FenceBeforeEnd) => fenced_at.unwrap_or(outcome.computed_at),
            _ => outcome
                .computed_at
                .min(fenced_at.unwrap_or(outcome.computed_at)),
        };
        if self.arrived <= until || mistake == Some(Mistake::AnyOutcome) {
            let with = outcome.token;
            self.phase = Phase::Answered { with, how };
            self.told.clear();
        } else {
            self.phase = Phase::Asking;
            self.attempt += 1;
        }
    }

    /// Has looked and found nothing new.
    pub(crate) fn looked(&mut self) {
        if let Phase::Following(following) = &mut self.phase {
            following.look_due = false;
        }
    }

    /// A tick passes for it.
    pub(crate) fn wait_a_tick(&mut self, setup: &Setup) {
        match &mut self.phase {
            Phase::Leading(leading) => {
                // Behind the longest time for a flight nothing depends on how long ago that was.
                leading.ran = (leading.ran + 1).min(setup.pending);
                leading.unsure_for = (leading.unsure_for + 1).min(setup.pending);
                leading.beat_due = true;
            }
            Phase::Following(following) => {
                following.look_due = true;
                self.waited += 1;
                if self.waited >= setup.wait {
                    self.phase = Phase::TimedOut;
                }
            }
            _ => {}
        }
    }

    /// Hears the next message.
    pub(crate) fn hear(&mut self, mistake: Option<Mistake>) {
        let message = Message::decode(&key(), &self.told.remove(0));
        let Phase::Following(following) = &mut self.phase else {
            return;
        };
        match message.expect("a message of this key") {
            Message::Outcome {
                envelope,
                fenced_at,
            } => {
                let mine = fenced_at.is_none() || envelope.token == following.leader;
                if mine && Seen::from(envelope.token) != following.seen {
                    self.given(&envelope, fenced_at, How::Heard, mistake);
                }
            }
            Message::Abandoned { token, .. } => following.look_due |= token == following.leader,
            Message::Stored { .. } | Message::Invalidated { .. } => {}
        }
    }
}
