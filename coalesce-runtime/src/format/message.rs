//! Messages: what travels on a key's notify channel.
//!
//! ```text
//!  0  1  kind: O outcome, P outcome whose payload is in the state, A abandoned by its body, W withdrawn
//!  1  8  fenced at, µs on the server's clock; 0 when the outcome was retained
//!  9  …  an envelope (of kind P, A and W: without its payload)
//! ```
//!
//! A message carries a whole envelope header, so it proves which key and which flight it is about.

use bytes::{BufMut as _, Bytes, BytesMut};

use super::envelope::{Envelope, Status, Unreadable};
use crate::words::clock::ServerTime;
use crate::words::key::Key;
use crate::words::token::Token;

/// Outcomes up to this many payload bytes travel inside the message.
pub(crate) const INLINE_PAYLOAD: usize = 8 * 1024;

const HEAD: usize = 9;

/// What a follower hears on its key's channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The flight ended, and this is its outcome.
    Outcome {
        /// The outcome, payload included.
        envelope: Envelope,
        /// Set when the flight had been fenced: the outcome is only for callers that had joined it by then.
        fenced_at: Option<ServerTime>,
    },
    /// The flight ended; its outcome is too big for a message and stands in the state.
    Stored {
        /// The flight.
        token: Token,
    },
    /// The flight ended without an outcome; its lock is free.
    Abandoned {
        /// The flight.
        token: Token,
        /// Whether it was its body that brought none.
        body_failed: bool,
    },
    /// Somebody removed or replaced the state; a flight in progress is fenced.
    Invalidated {
        /// When that was.
        at: ServerTime,
    },
}

impl Message {
    /// The bytes of a message about an outcome, given the bytes of its envelope.
    pub fn wrap_outcome(envelope: &[u8], fenced_at: Option<ServerTime>) -> Bytes {
        // A fenced outcome is not stored, so it travels whole or not at all.
        if fenced_at.is_some() || envelope.len() <= Envelope::HEADER_LEN + INLINE_PAYLOAD {
            encode(b'O', fenced_at.unwrap_or_default(), envelope)
        } else {
            encode(
                b'P',
                ServerTime::default(),
                &envelope[..Envelope::HEADER_LEN],
            )
        }
    }

    /// The bytes of the message that says a flight was abandoned.
    pub fn encode_abandoned(key: &Key, token: Token, body_failed: bool) -> Bytes {
        let marker = Envelope::new(
            Status::Invalidated,
            0,
            token,
            std::time::Duration::ZERO,
            Bytes::new(),
        );
        let kind = if body_failed { b'A' } else { b'W' };
        encode(kind, ServerTime::default(), &marker.encode(key))
    }

    /// The bytes of the message that says something about `key` has changed: read it again.
    pub fn encode_changed(key: &Key) -> Bytes {
        let token = Token::from_bytes([0; Token::LEN]);
        let marker = Envelope::new(
            Status::Invalidated,
            0,
            token,
            std::time::Duration::ZERO,
            Bytes::new(),
        );
        Self::wrap_outcome(&marker.encode(key), None)
    }

    /// Reads a message on `key`'s channel.
    ///
    /// # Errors
    ///
    /// Says whether the bytes are none of ours or belong to another key.
    pub fn decode(key: &Key, bytes: &Bytes) -> Result<Self, Unreadable> {
        let head: &[u8; HEAD] = bytes.first_chunk().ok_or(Unreadable::Malformed)?;
        let mut time = [0; 8];
        time.copy_from_slice(&head[1..]);
        let fenced_at = match u64::from_be_bytes(time) {
            0 => None,
            micros => Some(ServerTime::from_micros(micros)),
        };
        let body = bytes.slice(HEAD..);
        match head[0] {
            b'O' => match Envelope::decode(key, &body)? {
                Envelope {
                    status: Status::Invalidated,
                    computed_at: at,
                    ..
                } => Ok(Self::Invalidated { at }),
                envelope => Ok(Self::Outcome {
                    envelope,
                    fenced_at,
                }),
            },
            b'P' => Ok(Self::Stored {
                token: Self::token_of(key, &body)?,
            }),
            kind @ (b'A' | b'W') => Ok(Self::Abandoned {
                token: Self::token_of(key, &body)?,
                body_failed: kind == b'A',
            }),
            _ => Err(Unreadable::Malformed),
        }
    }

    /// The token of a header whose payload stayed behind, checked like a whole envelope.
    fn token_of(key: &Key, header: &Bytes) -> Result<Token, Unreadable> {
        if header.len() != Envelope::HEADER_LEN {
            return Err(Unreadable::Malformed);
        }
        let mut header = header.to_vec();
        // The payload stayed behind, and so did the trace context.
        header[64..].fill(0);
        header[7] = 0;
        Envelope::decode(key, &header.into()).map(|envelope| envelope.token)
    }
}

fn encode(kind: u8, fenced_at: ServerTime, envelope: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(HEAD + envelope.len());
    out.put_u8(kind);
    out.put_u64(fenced_at.as_micros());
    out.put_slice(envelope);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::format::traceparent::Traceparent;

    fn key() -> Key {
        Key::new("shop::get_order", &[&42_u64])
    }

    fn envelope(payload: usize) -> Envelope {
        let token = Token::from_bytes([7; 16]);
        Envelope::new(
            Status::Done,
            1,
            token,
            Duration::from_millis(3),
            vec![5; payload].into(),
        )
    }

    #[test]
    fn a_small_outcome_travels_whole() {
        let envelope = envelope(8_192);
        for fenced_at in [None, Some(ServerTime::from_micros(77))] {
            let bytes = Message::wrap_outcome(&envelope.encode(&key()), fenced_at);
            let outcome = Message::Outcome {
                envelope: envelope.clone(),
                fenced_at,
            };
            assert_eq!(Message::decode(&key(), &bytes), Ok(outcome));
        }
    }

    #[test]
    fn a_big_outcome_sends_the_follower_to_the_state() {
        let envelope = envelope(8_193);
        let bytes = Message::wrap_outcome(&envelope.encode(&key()), None);
        assert_eq!(bytes.len(), HEAD + Envelope::HEADER_LEN);
        assert_eq!(
            Message::decode(&key(), &bytes),
            Ok(Message::Stored {
                token: envelope.token
            })
        );
    }

    #[test]
    fn a_trace_context_travels_with_a_payload_and_stays_behind_with_one() {
        let trace = Traceparent::from_bytes(&[7; Traceparent::LEN]);
        let traced = |payload| Envelope {
            trace,
            ..envelope(payload)
        };
        let small = Message::wrap_outcome(&traced(1).encode(&key()), None);
        assert_eq!(
            Message::decode(&key(), &small),
            Ok(Message::Outcome {
                envelope: traced(1),
                fenced_at: None
            })
        );
        let token = traced(0).token;
        let big = Message::wrap_outcome(&traced(INLINE_PAYLOAD).encode(&key()), None);
        assert_eq!(big.len(), HEAD + Envelope::HEADER_LEN);
        assert_eq!(Message::decode(&key(), &big), Ok(Message::Stored { token }));
    }

    #[test]
    fn an_abandoned_flight_is_named() {
        let token = Token::from_bytes([9; 16]);
        for body_failed in [true, false] {
            let bytes = Message::encode_abandoned(&key(), token, body_failed);
            assert_eq!(
                Message::decode(&key(), &bytes),
                Ok(Message::Abandoned { token, body_failed })
            );
        }
    }

    #[test]
    fn a_message_of_another_key_or_garbage_is_refused() {
        let bytes = Message::wrap_outcome(&envelope(1).encode(&Key::new("other", &[])), None);
        assert_eq!(Message::decode(&key(), &bytes), Err(Unreadable::OtherKey));
        for garbage in [&b""[..], b"O", b"Xaaaaaaaaaaaaaaaa", &[b'P'; 100]] {
            let garbage = Bytes::copy_from_slice(garbage);
            assert_eq!(
                Message::decode(&key(), &garbage),
                Err(Unreadable::Malformed)
            );
        }
    }

    #[test]
    fn what_has_changed_is_told_without_saying_how() {
        let told = Message::encode_changed(&key());
        let at = ServerTime::default();
        assert_eq!(
            Message::decode(&key(), &told),
            Ok(Message::Invalidated { at })
        );
    }
}
