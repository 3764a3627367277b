//! The questions of the cases: ordinary ones, to be changed where a case is about something else.

use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, Envelope, FinishAsk, RenewAsk, ReplaceAsk, Seen, ServerTime, Status,
    Token,
};

use crate::world::Side;

/// A lease or a life that ends within a case.
pub(crate) const SHORT: Duration = Duration::from_millis(250);

/// A lease or a life that no case outlives.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A moment that no case lives to see.
pub(crate) const ANY_TIME: ServerTime = ServerTime::from_micros(u64::MAX);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Whatever state is there, `token` wants to lead.
pub(crate) fn begin(token: Token) -> BeginAsk {
    BeginAsk {
        token,
        lease: LONG,
        seen: None,
        following: None,
        trace: None,
    }
}

/// The same, by an asker who knows the state `seen` already.
pub(crate) fn begin_below(token: Token, seen: impl Into<Seen>) -> BeginAsk {
    BeginAsk {
        seen: Some(seen.into()),
        ..begin(token)
    }
}

/// The owner elected on an absent state renews for [`LONG`].
pub(crate) fn renew(key: &Key, token: Token) -> RenewAsk {
    RenewAsk {
        key: key.clone(),
        token,
        seen: Seen::NOTHING,
        lease: LONG,
        retake_until: ANY_TIME,
    }
}

pub(crate) fn envelope(status: Status, token: Token, payload: impl Into<Bytes>) -> Envelope {
    Envelope::new(status, 1, token, ms(7), payload.into())
}

/// The owner elected on an absent state returns a value; the lock must still be there.
pub(crate) fn done(token: Token, payload: &'static [u8]) -> FinishAsk {
    finish(envelope(Status::Done, token, payload))
}

/// The same with an error.
pub(crate) fn failed(token: Token, payload: &'static [u8]) -> FinishAsk {
    finish(envelope(Status::Failed, token, payload))
}

pub(crate) fn finish(envelope: Envelope) -> FinishAsk {
    FinishAsk {
        envelope,
        ended_ago: Duration::ZERO,
        life: LONG,
        seen: Seen::NOTHING,
        retake_until: ServerTime::default(),
        began: None,
        spare_value: None,
    }
}

/// Somebody puts a value in place.
pub(crate) fn put(token: Token, payload: &'static [u8]) -> ReplaceAsk {
    replace(envelope(Status::Done, token, payload))
}

/// Somebody invalidates the key.
pub(crate) fn invalidation() -> ReplaceAsk {
    replace(envelope(Status::Invalidated, Token::random(), Bytes::new()))
}

pub(crate) fn replace(envelope: Envelope) -> ReplaceAsk {
    ReplaceAsk {
        envelope,
        life: LONG,
    }
}

/// A flight that was just elected, for [`LONG`].
pub(crate) async fn lead(side: &Side, key: &Key) -> Token {
    lead_for(side, key, LONG).await
}

/// A flight that was just elected.
pub(crate) async fn lead_for(side: &Side, key: &Key, lease: Duration) -> Token {
    let token = Token::random();
    let ask = BeginAsk {
        lease,
        ..begin(token)
    };
    let answer = side.begin(key, ask).await;
    assert!(is_lead(&answer), "{answer:?}");
    token
}

/// A state that a whole flight has left.
pub(crate) async fn leave_value(side: &Side, key: &Key, payload: &'static [u8]) -> Token {
    let token = lead(side, key).await;
    side.finish(key, done(token, payload)).await;
    token
}

pub(crate) fn is_lead(answer: &BeginAnswer) -> bool {
    matches!(answer, BeginAnswer::Lead { .. })
}

/// The leader that the asker was told to follow.
pub(crate) fn followed(answer: &BeginAnswer) -> Option<Token> {
    match answer {
        BeginAnswer::Follow { leader, .. } => Some(*leader),
        _ => None,
    }
}
