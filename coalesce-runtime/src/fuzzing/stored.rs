//! Bytes from Redis: envelopes, messages and encoded values.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::format::codec::{self, Codec, MessagePack, NotEncoded};
use crate::format::envelope::{Envelope, Seen, Unreadable};
use crate::format::message::Message;
use crate::format::traceparent::Traceparent;
use crate::words::key::Key;

/// The key whose envelopes and messages the seeds hold.
pub(super) fn key() -> Key {
    Key::new("shop::get_order", &[&42_u64])
}

/// An envelope is read as it was written, or not at all.
pub fn envelope(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    assert!(Seen::of_state(Some(data)).as_bytes().len() <= 16);
    if let Ok(read) = Envelope::decode(&key(), &bytes) {
        written_as_it_was(&read, data);
    }
    let disguised = disguised(data, 0);
    if let Ok(read) = Envelope::decode(&key(), &disguised.clone().into()) {
        written_as_it_was(&read, &disguised);
        no_other_digest_is_read(disguised, data);
    }
}

fn written_as_it_was(read: &Envelope, data: &[u8]) {
    assert_eq!(&read.encode(&key())[..], data);
    let trace = read.trace.map_or(0, |_| Traceparent::LEN);
    let length = data.len() - Envelope::HEADER_LEN - trace;
    assert_eq!(read.payload.len(), length);
    assert_eq!(Seen::of_state(Some(data)), Seen::from(read.token));
}

/// One changed byte of a digest is another key's.
fn no_other_digest_is_read(mut bytes: Vec<u8>, data: &[u8]) {
    let place = 8 + usize::from(data.first().copied().unwrap_or_default() % 16);
    bytes[place] ^= data.last().copied().unwrap_or_default() | 1;
    let answer = Envelope::decode(&key(), &bytes.into());
    assert_eq!(answer, Err(Unreadable::OtherKey));
}

/// The same bytes with the marks of an envelope of our key at `start`, so that more than the first check
/// is reached: hardly any bytes have the right digest by chance.
fn disguised(data: &[u8], start: usize) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let Some(header) = bytes.get_mut(start..start + Envelope::HEADER_LEN) else {
        return bytes;
    };
    header[..3].copy_from_slice(b"co\x01");
    header[5] = 0;
    header[7] = if header[7] % 2 == 0 { 0 } else { 25 };
    let trace = usize::from(header[7]);
    header[8..24].copy_from_slice(key().digest());
    let length = bytes.len() - start - Envelope::HEADER_LEN;
    let length = length.saturating_sub(trace);
    if let Ok(length) = u32::try_from(length) {
        bytes[start + 64..start + 68].copy_from_slice(&length.to_be_bytes());
    }
    bytes
}

/// A message is one of the four, about our key and no larger than it came, or none.
pub fn message(data: &[u8]) {
    for bytes in [data.to_vec(), disguised(data, 9)] {
        let heard = Message::decode(&key(), &bytes.clone().into());
        if let Ok(Message::Outcome {
            envelope,
            fenced_at,
        }) = heard
        {
            assert!(envelope.payload.len() <= bytes.len());
            let again = Message::wrap_outcome(&envelope.encode(&key()), fenced_at);
            let small = envelope.payload.len() <= crate::format::message::INLINE_PAYLOAD;
            if small || fenced_at.is_some() {
                let heard = Message::decode(&key(), &again);
                assert_eq!(
                    heard,
                    Ok(Message::Outcome {
                        envelope,
                        fenced_at
                    })
                );
            }
        }
        let other = Key::new("shop::get_order", &[&43_u64]);
        assert!(Message::decode(&other, &bytes.into()).is_err());
    }
}

/// A type that holds itself: bytes decide how deep.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Tree {
    Leaf,
    Named { name: String, of: Vec<Tree> },
    Boxed(Box<Tree>),
}

/// A value is read as it was written, or not at all; and none is written above its limit.
pub fn codec(data: &[u8]) {
    read_by::<MessagePack>(data);
    #[cfg(feature = "json")]
    read_by::<codec::Json>(data);
    #[cfg(feature = "postcard")]
    read_by::<codec::Postcard>(data);
}

fn read_by<C: Codec>(data: &[u8]) {
    read_as::<C, u64>(data);
    read_as::<C, String>(data);
    read_as::<C, Option<i8>>(data);
    read_as::<C, Vec<String>>(data);
    read_as::<C, BTreeMap<String, (u16, bool)>>(data);
    read_as::<C, Result<Vec<u8>, char>>(data);
    read_as::<C, Tree>(data);
    assert_eq!(codec::decode::<C, u64>(C::NUMBER + 1, data), None);
    as_deep_as_bytes_can_say::<C>(data);
}

/// Its beginning again and again, which may be a level each time: no stack has room for as many as bytes can say.
fn as_deep_as_bytes_can_say<C: Codec>(data: &[u8]) {
    let beginning = &data[..data.len().min(10)];
    read_as::<C, Tree>(&beginning.repeat(16 * 1024));
}

fn read_as<C: Codec, T: Serialize + DeserializeOwned>(data: &[u8]) {
    let Some(value) = codec::decode::<C, T>(C::NUMBER, data) else {
        return;
    };
    let bytes = match codec::encode::<C, _>(&value, usize::MAX) {
        Ok(bytes) => bytes,
        Err(problem) => panic!("a value that was read is not written: {problem:?}"),
    };
    // Several bytes may mean one value, but what we write is read as itself.
    let again: Option<T> = codec::decode::<C, _>(C::NUMBER, &bytes);
    let rewritten = again.and_then(|value| codec::encode::<C, _>(&value, bytes.len()).ok());
    assert_eq!(rewritten.as_ref(), Some(&bytes));
    let below = codec::encode::<C, _>(&value, bytes.len() - 1);
    assert_eq!(below, Err(NotEncoded::TooLarge));
}
