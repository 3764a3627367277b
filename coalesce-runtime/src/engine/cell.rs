//! The cell: what a coordinator keeps for one key, and the rules by which it changes.
//!
//! The in-memory coordinator and the model checker run these functions; the scripts in
//! `backend/redis` are their twins, and one conformance suite holds both to the same answers.

use bytes::Bytes;
use std::time::Duration;

use super::ask::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAnswer, RenewAsk, ReplaceAsk,
};
use super::lease::pause_after;
use crate::format::envelope::{Envelope, Seen, Status};
use crate::format::message::Message;
use crate::format::traceparent::Traceparent;
use crate::words::clock::ServerTime;
use crate::words::key::Key;
use crate::words::token::Token;

/// Lock and state of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cell {
    lock: Option<Lock>,
    state: Option<State>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lock {
    token: Token,
    fenced_at: Option<ServerTime>,
    until: ServerTime,
    trace: Option<Traceparent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    bytes: Bytes,
    until: ServerTime,
}

/// An answer, and the message it sends to those who listen on the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told<A> {
    /// For the asker.
    pub answer: A,
    /// For the listeners.
    pub publish: Option<Bytes>,
}

impl<A> Told<A> {
    const fn quietly(answer: A) -> Self {
        Self {
            answer,
            publish: None,
        }
    }
}

impl Cell {
    /// Drops what has expired.
    pub fn expire(&mut self, now: ServerTime) {
        self.lock.take_if(|lock| lock.until <= now);
        self.state.take_if(|state| state.until <= now);
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.lock.is_none() && self.state.is_none()
    }

    /// Puts raw bytes in the place of the state, as a stranger would.
    pub fn plant(&mut self, state: Bytes, until: ServerTime) {
        self.state = Some(State {
            bytes: state,
            until,
        });
    }

    /// The state's bytes.
    pub fn read(&mut self, now: ServerTime) -> Option<Bytes> {
        self.expire(now);
        self.state.as_ref().map(|state| state.bytes.clone())
    }

    /// BEGIN.
    pub fn begin(&mut self, now: ServerTime, ask: &BeginAsk) -> BeginAnswer {
        self.expire(now);
        let seen = self.seen();
        if let Some(state) = &self.state
            && ask.seen.is_some_and(|unwanted| unwanted != seen)
            && !is(state, Status::Invalidated)
        {
            return BeginAnswer::State(state.bytes.clone());
        }
        match &self.lock {
            Some(lock) if lock.token == ask.token => BeginAnswer::Lead { seen },
            Some(lock) if lock.fenced_at.is_none() || ask.following == Some(lock.token) => {
                BeginAnswer::Follow {
                    leader: lock.token,
                    lease_left: now.until(lock.until),
                    seen,
                    trace: lock.trace,
                }
            }
            _ => {
                self.take(ask.token, now, ask.lease, ask.trace);
                BeginAnswer::Lead { seen }
            }
        }
    }

    /// RENEW.
    pub fn renew(&mut self, now: ServerTime, ask: &RenewAsk) -> RenewAnswer {
        self.expire(now);
        let seen = self.seen();
        match &mut self.lock {
            Some(lock) if lock.token == ask.token => {
                lock.until = now.plus(ask.lease);
                lock.fenced_at
                    .map_or(RenewAnswer::Held, |at| RenewAnswer::Fenced { at })
            }
            None if now < ask.retake_until && seen == ask.seen => {
                self.take(ask.token, now, ask.lease, None);
                RenewAnswer::Held
            }
            _ => RenewAnswer::Lost,
        }
    }

    /// FINISH.
    pub fn finish(&mut self, now: ServerTime, key: &Key, ask: &FinishAsk) -> Told<FinishAnswer> {
        self.expire(now);
        let token = ask.envelope.token;
        if self.seen() == Seen::from(token) {
            let spared = ask.spare_value.is_some() && ask.envelope.status == Status::Failed;
            return Told::quietly(match &self.state {
                Some(state) if spared && is(state, Status::Done) => FinishAnswer::Spared,
                _ => FinishAnswer::Stored,
            });
        }
        let fenced = self.lock.as_ref().filter(|lock| lock.token == token);
        let fenced = fenced.and_then(|lock| lock.fenced_at);
        if fenced.is_none() && self.is_newer_than(ask) {
            return Told::quietly(FinishAnswer::Lost);
        }
        let computed_at = computed_at(now, ask);
        let outcome = Envelope {
            computed_at,
            ..ask.envelope.clone()
        }
        .encode(key);
        if let Some(at) = fenced {
            let at = ask.unfenced_until(at);
            self.lock = None;
            return Told {
                answer: FinishAnswer::Fenced { at },
                publish: Some(Message::wrap_outcome(&outcome, Some(at))),
            };
        }
        match &self.lock {
            Some(lock) if lock.token == token => self.commit(now, ask, outcome),
            None if now < ask.retake_until && self.seen() == ask.seen => {
                self.commit(now, ask, outcome)
            }
            _ => Told::quietly(FinishAnswer::Lost),
        }
    }

    /// Whether the state is from behind the beginning of that body: invalidated, put or computed meanwhile.
    fn is_newer_than(&self, ask: &FinishAsk) -> bool {
        let stamp = self
            .state
            .as_ref()
            .and_then(|state| state.bytes.get(40..48));
        let stamp = stamp.and_then(|stamp| stamp.try_into().ok());
        let stamp = stamp.map(|stamp| ServerTime::from_micros(u64::from_be_bytes(stamp)));
        ask.began
            .is_some_and(|began| stamp.is_some_and(|stamp| stamp >= began))
    }

    fn commit(&mut self, now: ServerTime, ask: &FinishAsk, outcome: Bytes) -> Told<FinishAnswer> {
        self.lock = None;
        let publish = Some(Message::wrap_outcome(&outcome, None));
        let answer = match (&mut self.state, ask.spare_value) {
            (Some(state), Some(pause))
                if ask.envelope.status == Status::Failed && is(state, Status::Done) =>
            {
                state.bytes = with_failed_refresh(&state.bytes, ask.envelope.token, now, pause);
                FinishAnswer::Spared
            }
            _ => {
                self.state = Some(State {
                    bytes: outcome,
                    until: now.plus(ask.life),
                });
                FinishAnswer::Stored
            }
        };
        Told { answer, publish }
    }

    /// ABANDON. The answer says whether the lock was the flight's.
    pub fn abandon(&mut self, now: ServerTime, key: &Key, ask: AbandonAsk) -> Told<bool> {
        let AbandonAsk { token, body_failed } = ask;
        self.expire(now);
        let held = self.lock.take_if(|lock| lock.token == token).is_some();
        Told {
            answer: held,
            publish: held.then(|| Message::encode_abandoned(key, token, body_failed)),
        }
    }

    /// REPLACE. The answer says whether a flight in progress was fenced.
    pub fn replace(&mut self, now: ServerTime, key: &Key, ask: &ReplaceAsk) -> Told<bool> {
        self.expire(now);
        if self.seen() == Seen::from(ask.envelope.token) {
            let fenced = self
                .lock
                .as_ref()
                .is_some_and(|lock| lock.fenced_at.is_some());
            return Told::quietly(fenced);
        }
        if let Some(lock) = &mut self.lock {
            // The first fence counts: those who joined before it are the ones the outcome is for.
            lock.fenced_at.get_or_insert(now);
        }
        let bytes = Envelope {
            computed_at: now,
            ..ask.envelope.clone()
        }
        .encode(key);
        let publish = Some(Message::wrap_outcome(&bytes, None));
        self.state = Some(State {
            bytes,
            until: now.plus(ask.life),
        });
        Told {
            answer: self.lock.is_some(),
            publish,
        }
    }

    fn take(&mut self, token: Token, now: ServerTime, lease: Duration, trace: Option<Traceparent>) {
        self.lock = Some(Lock {
            token,
            fenced_at: None,
            until: now.plus(lease),
            trace,
        });
    }

    fn seen(&self) -> Seen {
        Seen::of_state(self.state.as_ref().map(|state| &state.bytes[..]))
    }
}

fn is(state: &State, status: Status) -> bool {
    state.bytes.get(3) == Some(&status.byte())
}

/// When the body ended: what the leader says, if it can be true.
///
/// The way here has made `ended_ago` too short: by a moment, or by as long as this server stood still
/// with the question before it. A leader that says otherwise has a wrong idea of the server's clock.
fn computed_at(now: ServerTime, ask: &FinishAsk) -> ServerTime {
    const LONGEST_WAY: Duration = Duration::from_secs(60);
    let latest = now.minus(ask.ended_ago);
    let said = ask.envelope.computed_at;
    if said <= latest && said >= latest.minus(LONGEST_WAY) {
        said
    } else {
        latest
    }
}

/// The same state with one more failed refresh and the pause that follows it.
///
/// It gets the token of the flight that failed: whoever has seen it as it was before, and would refresh
/// that, learns that somebody has tried; and a failure that is told twice is noted once.
fn with_failed_refresh(
    state: &Bytes,
    token: Token,
    now: ServerTime,
    first_pause: Duration,
) -> Bytes {
    let mut bytes = state.to_vec();
    if let Some(header) = bytes.first_chunk_mut::<{ Envelope::HEADER_LEN }>() {
        let pause = pause_after(header[6], first_pause);
        header[6] = header[6].saturating_add(1);
        header[24..40].copy_from_slice(token.as_bytes());
        header[56..64].copy_from_slice(&now.plus(pause).as_micros().to_be_bytes());
    }
    bytes.into()
}
