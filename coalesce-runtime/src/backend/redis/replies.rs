//! Replies as answers. A pure decoder: whatever comes, it says the answer or why it is none.

use std::time::Duration;

use bytes::Bytes;
use fred::types::Value;

use crate::engine::ask::{BeginAnswer, FinishAnswer, RenewAnswer};
use crate::format::envelope::Seen;
use crate::format::traceparent::Traceparent;
use crate::ports::coordinator::Renewals;
use crate::words::clock::ServerTime;
use crate::words::fault::Fault;
use crate::words::token::Token;

/// Where the token stands in an envelope.
const MARK_AT: usize = 24;

/// A script's reply that belongs to its request: the nonce was right and has been taken off.
#[derive(Debug)]
pub(super) struct Said {
    kind: Bytes,
    fields: Vec<Value>,
    /// The server's time when the script ran.
    pub(super) at: ServerTime,
}

/// A reply to something else: the client has mixed up the replies of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Misrouted;

impl Said {
    /// Takes a reply apart.
    ///
    /// Every script answers with the nonce of its request in front; a reply that does not is another's.
    pub(super) fn open(reply: Value, nonce: &str) -> Result<Self, Misrouted> {
        let Value::Array(mut fields) = reply else {
            return Err(Misrouted);
        };
        if fields.len() < 3 {
            return Err(Misrouted);
        }
        let at = fields.pop().and_then(moment).ok_or(Misrouted)?;
        let mut front = fields.drain(..2).map(text);
        let (echo, kind) = (front.next().flatten(), front.next().flatten());
        drop(front);
        match (echo, kind) {
            (Some(echo), Some(kind)) if echo == nonce => Ok(Self { kind, fields, at }),
            _ => Err(Misrouted),
        }
    }

    /// The answer to BEGIN.
    pub(super) fn begin(self) -> Result<BeginAnswer, Fault> {
        match &*self.kind {
            b"state" => {
                let [state] = self.fields()?;
                Ok(BeginAnswer::State(text(state).ok_or(Fault::Garbled)?))
            }
            b"lead" => {
                let [mark] = self.fields()?;
                Ok(BeginAnswer::Lead { seen: seen(mark)? })
            }
            b"follow" => {
                let [holder, left, mark, trace] = self.fields()?;
                Ok(BeginAnswer::Follow {
                    leader: owner(holder)?,
                    lease_left: lease_left(&left)?,
                    seen: seen(mark)?,
                    trace: traced(trace),
                })
            }
            _ => Err(Fault::Garbled),
        }
    }

    /// Whether it was a copy that could not renew a lock. Other scripts end there.
    pub(super) fn is_by_a_copy(&self) -> bool {
        let mut fields = self.fields.iter().cloned().filter_map(text);
        &*self.kind == b"renewed" && fields.any(|answer| &*answer == b"copy")
    }

    /// The answers to RENEW, one for each of the `asked` locks.
    pub(super) fn renew(self, asked: usize) -> Result<Renewals, Fault> {
        if &*self.kind != b"renewed" || self.fields.len() != asked {
            return Err(Fault::Garbled);
        }
        Ok(self.fields.into_iter().map(renewed).collect())
    }

    /// The answer to FINISH.
    pub(super) fn finish(self) -> Result<FinishAnswer, Fault> {
        if &*self.kind == b"fenced" {
            let [at] = self.fields()?;
            let at = moment(at).ok_or(Fault::Garbled)?;
            return Ok(FinishAnswer::Fenced { at });
        }
        self.word(&[
            (b"stored", FinishAnswer::Stored),
            (b"spared", FinishAnswer::Spared),
            (b"lost", FinishAnswer::Lost),
        ])
    }

    /// The answer to LOOK.
    pub(super) fn look(self) -> Result<Option<Bytes>, Fault> {
        if &*self.kind == b"state" {
            let [state] = self.fields()?;
            return Ok(Some(text(state).ok_or(Fault::Garbled)?));
        }
        self.word(&[(b"nothing", ())]).map(|()| None)
    }

    /// The answer to ABANDON and to REPLACE.
    pub(super) fn yes_or_no(self) -> Result<bool, Fault> {
        self.word(&[(b"yes", true), (b"no", false)])
    }

    /// An answer that is one of a few words and nothing else.
    fn word<A: Copy>(self, words: &[(&[u8], A)]) -> Result<A, Fault> {
        let known = words.iter().find(|(word, _)| *word == &*self.kind);
        match known {
            Some((_, answer)) if self.fields.is_empty() => Ok(*answer),
            _ => Err(Fault::Garbled),
        }
    }

    fn fields<const N: usize>(self) -> Result<[Value; N], Fault> {
        self.fields.try_into().map_err(|_| Fault::Garbled)
    }
}

/// The reply to HGETALL: a map, which no other question of ours is answered with. Nothing that slid here from another
/// one is an empty switch.
pub(super) fn hash(reply: Value) -> Result<Vec<(String, String)>, Fault> {
    let Value::Map(map) = reply else {
        return Err(Fault::Garbled);
    };
    let pairs = map.inner().into_iter();
    let pairs =
        pairs.map(|(field, value)| Some((legible(&field.into_bytes()), legible(&text(value)?))));
    pairs.collect::<Option<_>>().ok_or(Fault::Garbled)
}

/// The reply to ZRANGE with scores: a list of pairs, which no other question of ours is answered with.
pub(super) fn members(reply: Value) -> Result<Vec<String>, Fault> {
    let Value::Array(pairs) = reply else {
        return Err(Fault::Garbled);
    };
    let names = pairs.into_iter().map(member);
    names.collect::<Option<_>>().ok_or(Fault::Garbled)
}

fn member(pair: Value) -> Option<String> {
    let Value::Array(pair) = pair else {
        return None;
    };
    match <[Value; 2]>::try_from(pair).ok()? {
        [name, Value::Double(_)] => Some(legible(&text(name)?)),
        _ => None,
    }
}

/// The reply to GETRANGE: of a state that is not there it is empty.
pub(super) fn stored(reply: Value) -> Result<Option<Bytes>, Fault> {
    let state = text(reply).ok_or(Fault::Garbled)?;
    Ok((!state.is_empty()).then_some(state))
}

/// The reply to PING with a message, which is that message.
pub(super) fn echo(reply: Value, message: &str) -> Result<(), Fault> {
    match text(reply) {
        Some(echo) if echo == message => Ok(()),
        _ => Err(Fault::Garbled),
    }
}

/// The reply to TIME: seconds, and microseconds of the second.
pub(super) fn time(reply: Value) -> Result<ServerTime, Fault> {
    let Value::Array(parts) = reply else {
        return Err(Fault::Garbled);
    };
    let mut parts = parts
        .into_iter()
        .map(|part| moment(part).map(ServerTime::as_micros));
    match (parts.next().flatten(), parts.next().flatten(), parts.next()) {
        (Some(seconds), Some(micros), None) => Ok(ServerTime::from_micros(
            seconds.saturating_mul(1_000_000).saturating_add(micros),
        )),
        _ => Err(Fault::Garbled),
    }
}

fn renewed(answer: Value) -> Result<RenewAnswer, Fault> {
    let answer = text(answer).ok_or(Fault::Garbled)?;
    match &*answer {
        b"held" => Ok(RenewAnswer::Held),
        b"lost" => Ok(RenewAnswer::Lost),
        b"foreign" => Err(Fault::ForeignType),
        b"denied" => Err(Fault::Denied),
        b"copy" | b"refused" => Err(Fault::Refused),
        digits => {
            let at = number(digits).ok_or(Fault::Garbled)?;
            let at = ServerTime::from_micros(at);
            Ok(RenewAnswer::Fenced { at })
        }
    }
}

/// The token in a lock. Another text there is nothing this library writes.
fn owner(holder: Value) -> Result<Token, Fault> {
    let holder = text(holder).ok_or(Fault::Garbled)?;
    Token::from_hex(&holder).ok_or(Fault::ForeignType)
}

/// The trace behind a lock. Whatever else stands there is nobody's loss.
fn traced(trace: Value) -> Option<Traceparent> {
    Traceparent::parse(std::str::from_utf8(&text(trace)?).ok()?)
}

/// What is left of a lease. A lock that never expires is nothing this library writes either, and
/// following it would be a busy loop.
fn lease_left(left: &Value) -> Result<Duration, Fault> {
    match left {
        Value::Integer(-1) => Err(Fault::ForeignType),
        // It expired between two commands of the script, on servers older than 7.
        Value::Integer(millis) => Ok(Duration::from_millis(
            u64::try_from(*millis).unwrap_or_default(),
        )),
        _ => Err(Fault::Garbled),
    }
}

fn seen(mark: Value) -> Result<Seen, Fault> {
    let mark = text(mark).ok_or(Fault::Garbled)?;
    // A mark is what stands at the place of the token, so a state is made around it.
    let mut state = vec![0; MARK_AT];
    state.extend_from_slice(&mark);
    Ok(Seen::of_state(Some(&state)))
}

/// A moment in microseconds, as a number or in digits.
fn moment(value: Value) -> Option<ServerTime> {
    let micros = match value {
        Value::Integer(micros) => u64::try_from(micros).ok()?,
        other => number(&text(other)?)?,
    };
    Some(ServerTime::from_micros(micros))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The bytes of a bulk string, whatever is in them.
pub(super) fn text(value: Value) -> Option<Bytes> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::String(text) => Some(text.into_inner()),
        _ => None,
    }
}

/// Text with a mark for each byte that is none. Such bytes are somebody else's, and so is that mark: whatever this
/// library writes into a hash or a set is ASCII. So what they stand in is no position and no name of ours, and what
/// stands beside it is read.
fn legible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
#[path = "replies_tests.rs"]
mod tests;
