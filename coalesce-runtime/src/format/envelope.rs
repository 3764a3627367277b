//! The envelope: what the state of a key looks like in Redis, byte for byte.
//!
//! ```text
//!  0  2  magic "co"                 8 16  digest of namespace and key
//!  2  1  format version            24 16  token of the flight
//!  3  1  status                    40  8  computed at, µs on the server's clock
//!  4  1  codec                     48  8  how long the body ran, µs
//!  5  1  compression               56  8  no refresh before, µs on the server's clock
//!  6  1  failed refreshes          64  4  length of the payload
//!  7  1  length of the trace        68  …  payload
//!       context, 0 or 25               …  trace context (format/traceparent.rs)
//! ```
//!
//! Numbers are big-endian. A reader that knows of no trace context finds more bytes than the length says: a miss.
//! Where no trace context is set, nothing stands there. Scripts read the status (offset 3) and the token (offset 24), stamp the
//! time (offset 40) and note a failed refresh (offsets 6, 24 and 56); the payload is none of their business.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::traceparent::Traceparent;
use crate::words::clock::{ServerTime, micros};
use crate::words::key::Key;
use crate::words::token::Token;

const MAGIC: [u8; 2] = *b"co";
const VERSION: u8 = 1;
const TRACE_LEN: u8 = 25;

/// What an envelope says about its flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It returned a value; the payload is the value.
    Done,
    /// It returned an error; the payload is the error.
    Failed,
    /// It returned a value that is not stored: above the ceiling, too deep, or not encodable.
    TooLarge,
    /// There is no outcome: somebody invalidated the key.
    Invalidated,
}

impl Status {
    /// The byte that stands for it.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Done => b'D',
            Self::Failed => b'F',
            Self::TooLarge => b'L',
            Self::Invalidated => b'I',
        }
    }

    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            b'D' => Self::Done,
            b'F' => Self::Failed,
            b'L' => Self::TooLarge,
            b'I' => Self::Invalidated,
            _ => return None,
        })
    }
}

/// The outcome of a flight, with everything needed to know whose, how old and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What it says.
    pub status: Status,
    /// How the payload was encoded, by number.
    pub codec: u8,
    /// Refreshes that failed in a row since the value was computed.
    pub failed_refreshes: u8,
    /// The flight that left it.
    pub token: Token,
    /// When the body ended, on the server's clock. Zero until a coordinator stamps it.
    pub computed_at: ServerTime,
    /// How long the body ran.
    pub ran_for: Duration,
    /// No refresh starts before this moment; zero when none has failed.
    pub refresh_after: ServerTime,
    /// The encoded value or error.
    pub payload: Bytes,
    /// The trace that the flight was part of, where the application has one.
    pub trace: Option<Traceparent>,
}

/// Why bytes are not an envelope of a key. All of it is a miss to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// Not ours, cut short, of another format version, or with a length that does not fit.
    Malformed,
    /// An envelope of another key: the client library mixed up replies.
    OtherKey,
}

impl Envelope {
    /// Bytes in front of the payload.
    pub const HEADER_LEN: usize = 68;

    /// An envelope as a leader makes it, before the coordinator stamps the time.
    pub fn new(status: Status, codec: u8, token: Token, ran_for: Duration, payload: Bytes) -> Self {
        Self {
            status,
            codec,
            failed_refreshes: 0,
            token,
            computed_at: ServerTime::default(),
            ran_for,
            refresh_after: ServerTime::default(),
            payload,
            trace: None,
        }
    }

    /// The bytes of this envelope for `key`.
    pub fn encode(&self, key: &Key) -> Bytes {
        let trace = self.trace.map(Traceparent::to_bytes);
        let trace = trace.as_ref().map_or(&[][..], |bytes| bytes);
        let length = Self::HEADER_LEN + self.payload.len() + trace.len();
        let mut out = BytesMut::with_capacity(length);
        out.put_slice(&MAGIC);
        out.put_u8(VERSION);
        out.put_u8(self.status.byte());
        out.put_u8(self.codec);
        out.put_u8(0);
        out.put_u8(self.failed_refreshes);
        out.put_u8(if trace.is_empty() { 0 } else { TRACE_LEN });
        out.put_slice(key.digest());
        out.put_slice(self.token.as_bytes());
        out.put_u64(self.computed_at.as_micros());
        out.put_u64(micros(self.ran_for));
        out.put_u64(self.refresh_after.as_micros());
        // A payload is bounded far below 4 GiB by `max_payload`, whose own ceiling is checked.
        out.put_u32(u32::try_from(self.payload.len()).unwrap_or(u32::MAX));
        out.put_slice(&self.payload);
        out.put_slice(trace);
        out.freeze()
    }

    /// Whether these bytes are more than the mark that an invalidation leaves.
    #[cfg(any(feature = "axum", feature = "cli"))]
    pub(crate) fn holds_outcome(key: &Key, bytes: &Bytes) -> bool {
        let read = Self::decode(key, bytes);
        read.map_or(true, |envelope| envelope.status != Status::Invalidated)
    }

    /// Reads what [`Envelope::encode`] wrote for the same key. Never panics, copies nothing.
    ///
    /// # Errors
    ///
    /// Says whether the bytes are none of ours or belong to another key.
    pub fn decode(key: &Key, bytes: &Bytes) -> Result<Self, Unreadable> {
        let header = Header::split(bytes).ok_or(Unreadable::Malformed)?;
        if header.slice::<16>(8) != *key.digest() {
            return Err(Unreadable::OtherKey);
        }
        let length = u32::from_be_bytes(header.slice(64)) as usize;
        let trace_len = usize::from(header.byte(7));
        let body = bytes.slice(Self::HEADER_LEN..);
        if body.len().checked_sub(trace_len) != Some(length) {
            return Err(Unreadable::Malformed);
        }
        let trace = match trace_len {
            0 => None,
            _ => Some(Traceparent::from_bytes(&body[length..]).ok_or(Unreadable::Malformed)?),
        };
        Ok(Self {
            status: Status::from_byte(header.byte(3)).ok_or(Unreadable::Malformed)?,
            codec: header.byte(4),
            failed_refreshes: header.byte(6),
            token: Token::from_bytes(header.slice(24)),
            computed_at: ServerTime::from_micros(u64::from_be_bytes(header.slice(40))),
            ran_for: Duration::from_micros(u64::from_be_bytes(header.slice(48))),
            refresh_after: ServerTime::from_micros(u64::from_be_bytes(header.slice(56))),
            payload: body.slice(..length),
            trace,
        })
    }
}

/// The fixed part of an envelope, known to be complete and of our format.
struct Header<'a>(&'a [u8; Envelope::HEADER_LEN]);

impl<'a> Header<'a> {
    fn split(bytes: &'a [u8]) -> Option<Self> {
        let header = Self(bytes.first_chunk()?);
        let ours = header.slice(0) == MAGIC && header.byte(2) == VERSION && header.byte(5) == 0;
        ours.then_some(header)
    }

    fn byte(&self, at: usize) -> u8 {
        self.0[at]
    }

    fn slice<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&self.0[at..at + N]);
        out
    }
}

/// What a caller saw at the place of the token when it looked at a state: the mark by which it
/// tells a later outcome from that one.
///
/// It is taken from the raw bytes, so that it also marks a state that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Seen {
    bytes: [u8; Token::LEN],
    len: u8,
}

impl Seen {
    /// The mark of an absent state.
    pub const NOTHING: Self = Self {
        bytes: [0; Token::LEN],
        len: 0,
    };

    /// The mark of a state, readable or not.
    pub fn of_state(state: Option<&[u8]>) -> Self {
        let Some(place) = state.and_then(|bytes| bytes.get(24..)) else {
            return Self::NOTHING;
        };
        let len = place.len().min(Token::LEN);
        let mut bytes = [0; Token::LEN];
        bytes[..len].copy_from_slice(&place[..len]);
        Self {
            bytes,
            len: u8::try_from(len).unwrap_or(0),
        }
    }

    /// The bytes as scripts compare them; empty for an absent state.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl From<Token> for Seen {
    fn from(token: Token) -> Self {
        Self {
            bytes: *token.as_bytes(),
            len: 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("shop::get_order", &[&42_u64])
    }

    fn envelope() -> Envelope {
        Envelope {
            status: Status::Done,
            codec: 1,
            failed_refreshes: 2,
            token: Token::from_bytes(*b"0123456789abcdef"),
            computed_at: ServerTime::from_micros(0x0102_0304_0506_0708),
            ran_for: Duration::from_micros(200_000),
            refresh_after: ServerTime::from_micros(9),
            payload: Bytes::from_static(b"\xa3abc"),
            trace: None,
        }
    }

    fn traced() -> Envelope {
        Envelope {
            trace: Traceparent::from_bytes(b"tttttttttttttttt\xffssssss\x01\x01"),
            ..envelope()
        }
    }

    /// What stands behind the payload, where the application has a trace.
    #[test]
    fn golden_bytes_of_a_trace_context() {
        let mut golden = envelope().encode(&key()).to_vec();
        golden[7] = 25;
        golden.extend_from_slice(b"tttttttttttttttt\xffssssss\x01\x01");
        let bytes = traced().encode(&key());
        assert_eq!(&bytes[..], &golden[..]);
        let room = bytes.try_into_mut().unwrap().capacity();
        assert_eq!(room, golden.len(), "no more is reserved than is written");
    }

    #[test]
    fn a_trace_context_is_read_whole_or_is_a_miss() {
        let bytes = traced().encode(&key());
        assert_eq!(Envelope::decode(&key(), &bytes), Ok(traced()));
        for cut in 0..bytes.len() {
            assert!(Envelope::decode(&key(), &bytes.slice(..cut)).is_err());
        }
        for length in (0..=u8::MAX).filter(|length| *length != TRACE_LEN) {
            let mut other = bytes.to_vec();
            other[7] = length;
            assert!(Envelope::decode(&key(), &other.into()).is_err(), "{length}");
        }
        let mut of_zeros = bytes.to_vec();
        of_zeros[72..88].fill(0);
        assert!(Envelope::decode(&key(), &of_zeros.into()).is_err());
    }

    /// A change here is a new format version: other processes hold the old bytes.
    #[test]
    fn golden_bytes() {
        let mut golden = Vec::new();
        golden.extend_from_slice(b"co\x01D\x01\x00\x02\x00");
        golden.extend_from_slice(&[
            0x14, 0x0f, 0x80, 0x88, 0x2c, 0x5d, 0xdd, 0xcc, 0x0e, 0x57, 0x1b, 0xcb, 0xa9, 0x5f,
            0x9c, 0x23,
        ]);
        golden.extend_from_slice(b"0123456789abcdef");
        golden.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        golden.extend_from_slice(&[0, 0, 0, 0, 0, 3, 0x0d, 0x40]);
        golden.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 9]);
        golden.extend_from_slice(&[0, 0, 0, 4]);
        golden.extend_from_slice(b"\xa3abc");
        assert_eq!(&envelope().encode(&key())[..], &golden[..]);
    }

    #[test]
    fn what_was_written_is_read() {
        use Status::{Done, Failed, Invalidated, TooLarge};
        for status in [Done, Failed, TooLarge, Invalidated] {
            let envelope = Envelope {
                status,
                ..envelope()
            };
            let bytes = envelope.encode(&key());
            #[cfg(any(feature = "axum", feature = "cli"))]
            assert_eq!(
                Envelope::holds_outcome(&key(), &bytes),
                status != Invalidated
            );
            assert_eq!(Envelope::decode(&key(), &bytes), Ok(envelope));
        }
    }

    #[test]
    fn an_empty_payload_is_a_value_and_not_an_absence() {
        let empty = Envelope {
            payload: Bytes::new(),
            ..envelope()
        };
        assert_eq!(Envelope::decode(&key(), &empty.encode(&key())), Ok(empty));
    }

    #[test]
    fn another_keys_envelope_is_told_apart() {
        let bytes = envelope().encode(&Key::new("shop::get_order", &[&43_u64]));
        assert_eq!(Envelope::decode(&key(), &bytes), Err(Unreadable::OtherKey));
    }

    #[test]
    fn cut_stretched_or_foreign_bytes_are_unreadable() {
        let bytes = envelope().encode(&key());
        for cut in 0..bytes.len() {
            assert!(
                Envelope::decode(&key(), &bytes.slice(..cut)).is_err(),
                "cut at {cut}"
            );
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        assert!(Envelope::decode(&key(), &longer.into()).is_err());
        let mut future = bytes.to_vec();
        future[2] = 2;
        assert!(Envelope::decode(&key(), &future.into()).is_err());
    }

    #[test]
    fn any_flipped_bit_in_front_of_the_token_is_noticed() {
        let bytes = envelope().encode(&key());
        for at in (0..24).filter(|at| ![4, 6].contains(at)) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x80;
            assert!(
                Envelope::decode(&key(), &flipped.into()).is_err(),
                "byte {at}"
            );
        }
    }

    #[test]
    fn the_mark_of_a_state_is_its_token_even_when_it_cannot_be_read() {
        let bytes = envelope().encode(&key());
        assert_eq!(Seen::of_state(Some(&bytes)), Seen::from(envelope().token));
        assert_eq!(Seen::of_state(None), Seen::NOTHING);
        assert_eq!(Seen::of_state(Some(b"short")), Seen::NOTHING);
        assert_eq!(Seen::of_state(Some(&[7; 30])).as_bytes(), [7; 6]);
    }
}
