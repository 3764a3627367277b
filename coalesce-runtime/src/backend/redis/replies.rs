//! Replies as answers. A pure decoder: whatever comes, it says the answer or why it is none.

use std::time::Duration;

use bytes::Bytes;
use fred::types::Value;

use crate::engine::ask::{BeginAnswer, FinishAnswer, RenewAnswer};
use crate::format::envelope::Seen;
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
                let [holder, left, mark] = self.fields()?;
                Ok(BeginAnswer::Follow {
                    leader: owner(holder)?,
                    lease_left: lease_left(&left)?,
                    seen: seen(mark)?,
                })
            }
            _ => Err(Fault::Garbled),
        }
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

/// The reply to HGETALL.
pub(super) fn hash(reply: Value) -> Result<Vec<(String, String)>, Fault> {
    reply.convert().map_err(|_| Fault::Garbled)
}

/// The reply to ZRANGE.
pub(super) fn members(reply: Value) -> Result<Vec<String>, Fault> {
    reply.convert().map_err(|_| Fault::Garbled)
}

/// The reply to GET.
pub(super) fn stored(reply: Value) -> Result<Option<Bytes>, Fault> {
    match reply {
        Value::Null => Ok(None),
        other => text(other).map(Some).ok_or(Fault::Garbled),
    }
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
        b"refused" => Err(Fault::Refused),
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
fn text(value: Value) -> Option<Bytes> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::String(text) => Some(text.into_inner()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "17";
    const NOW: i64 = 1_790_000_000_123_456;

    fn bulk(text: impl AsRef<[u8]>) -> Value {
        Value::Bytes(Bytes::copy_from_slice(text.as_ref()))
    }

    fn reply(kind: &str, fields: impl IntoIterator<Item = Value>) -> Value {
        let mut all = vec![bulk(NONCE), bulk(kind)];
        all.extend(fields);
        all.push(Value::Integer(NOW));
        Value::Array(all)
    }

    fn said(kind: &str, fields: impl IntoIterator<Item = Value>) -> Said {
        Said::open(reply(kind, fields), NONCE).unwrap()
    }

    #[test]
    fn the_time_of_the_server_comes_with_every_reply() {
        let at = said("yes", []).at;
        assert_eq!(at, ServerTime::from_micros(1_790_000_000_123_456));
    }

    #[test]
    fn a_reply_to_another_request_is_told() {
        let shifted = [
            Value::Null,
            Value::Integer(1),
            bulk("OK"),
            Value::Array(vec![]),
            Value::Array(vec![bulk(NONCE)]),
            Value::Array(vec![bulk(NONCE), Value::Integer(NOW)]),
            Value::Array(vec![Value::Null, bulk("yes"), Value::Integer(NOW)]),
            Value::Array(vec![bulk(NONCE), bulk("yes"), Value::Null]),
            Value::Array(vec![bulk(NONCE), Value::Null, Value::Integer(NOW)]),
            Value::Array(vec![bulk(NONCE), bulk("yes"), Value::Integer(-1)]),
        ];
        for reply in shifted {
            assert_eq!(Said::open(reply, NONCE).unwrap_err(), Misrouted);
        }
        let of_another = Said::open(reply("yes", []), "18");
        assert_eq!(of_another.unwrap_err(), Misrouted);
    }

    #[test]
    fn begin_says_the_role() {
        let token = Token::from_bytes([0xab; 16]);
        let mark = || bulk(token.as_bytes());
        assert_eq!(
            said("state", [bulk(b"\xff\x00raw")]).begin(),
            Ok(BeginAnswer::State(Bytes::from_static(b"\xff\x00raw")))
        );
        assert_eq!(
            said("lead", [bulk("")]).begin(),
            Ok(BeginAnswer::Lead {
                seen: Seen::NOTHING
            })
        );
        let follow = [bulk(token.to_hex()), Value::Integer(1_500), mark()];
        assert_eq!(
            said("follow", follow).begin(),
            Ok(BeginAnswer::Follow {
                leader: token,
                lease_left: Duration::from_millis(1_500),
                seen: Seen::from(token)
            })
        );
    }

    #[test]
    fn a_lock_that_is_not_ours_is_foreign() {
        let hex = "ab".repeat(16);
        for lock in [
            [
                bulk("held by a script of ours"),
                Value::Integer(5),
                bulk(""),
            ],
            [bulk(hex), Value::Integer(-1), bulk("")],
        ] {
            let answer = said("follow", lock).begin();
            assert_eq!(answer, Err(Fault::ForeignType));
        }
    }

    #[test]
    fn renew_answers_in_order_and_for_all() {
        let fields = || ["held", "lost", "refused", "1790000000123456", "soon"].map(bulk);
        let at = ServerTime::from_micros(1_790_000_000_123_456);
        assert_eq!(
            said("renewed", fields()).renew(5),
            Ok(vec![
                Ok(RenewAnswer::Held),
                Ok(RenewAnswer::Lost),
                Err(Fault::Refused),
                Ok(RenewAnswer::Fenced { at }),
                Err(Fault::Garbled),
            ])
        );
        let short = said("renewed", fields()).renew(4);
        assert_eq!(short, Err(Fault::Garbled));
    }

    #[test]
    fn finish_says_one_of_four() {
        assert_eq!(said("stored", []).finish(), Ok(FinishAnswer::Stored));
        assert_eq!(said("spared", []).finish(), Ok(FinishAnswer::Spared));
        assert_eq!(said("lost", []).finish(), Ok(FinishAnswer::Lost));
        let at = ServerTime::from_micros(77);
        assert_eq!(
            said("fenced", [bulk("77")]).finish(),
            Ok(FinishAnswer::Fenced { at })
        );
    }

    #[test]
    fn look_says_the_state_or_nothing() {
        let state = Bytes::from_static(b"raw");
        assert_eq!(said("state", [bulk("raw")]).look(), Ok(Some(state)));
        assert_eq!(said("nothing", []).look(), Ok(None));
        assert_eq!(said("lost", []).look(), Err(Fault::Garbled));
    }

    #[test]
    fn the_right_nonce_with_wrong_fields_is_garbled() {
        for answer in [
            said("lead", []).begin().err(),
            said("state", [Value::Null]).begin().err(),
            said("state", [bulk("a"), bulk("b")]).begin().err(),
            said("follow", [bulk("a"), bulk("b"), bulk("c"), bulk("d")])
                .begin()
                .err(),
            said("stored", [bulk("x")]).finish().err(),
            said("fenced", [bulk("soon")]).finish().err(),
            said("perhaps", []).yes_or_no().err(),
        ] {
            assert_eq!(answer, Some(Fault::Garbled));
        }
    }

    #[test]
    fn get_ping_and_time_are_checked_for_their_shape() {
        assert_eq!(stored(Value::Null), Ok(None));
        assert_eq!(stored(bulk("")), Ok(Some(Bytes::new())));
        assert_eq!(stored(Value::Integer(1)), Err(Fault::Garbled));
        assert_eq!(stored(Value::Array(vec![])), Err(Fault::Garbled));
        assert_eq!(echo(bulk("5"), "5"), Ok(()));
        assert_eq!(echo(bulk("4"), "5"), Err(Fault::Garbled));
        let reply = Value::Array(vec![bulk("1790000000"), bulk("123456")]);
        let now = ServerTime::from_micros(1_790_000_000_123_456);
        assert_eq!(time(reply), Ok(now));
        for wrong in [
            bulk("1"),
            Value::Array(vec![bulk("1")]),
            Value::Array(vec![bulk("1"), bulk("x")]),
            Value::Array(vec![bulk("1"), bulk("2"), bulk("3")]),
        ] {
            assert_eq!(time(wrong), Err(Fault::Garbled));
        }
    }
}
