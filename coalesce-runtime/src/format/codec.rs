//! Codecs: values as bytes, bounded while they are written, and read whole or not at all.

use std::io;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// `MessagePack` with names: field names travel with the values, so that fields can be added, removed
/// and reordered between two deployments. (The compact form swaps reordered fields silently.)
pub(crate) const MESSAGE_PACK: u8 = 1;

/// Why a value has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotEncoded {
    /// It would take more than the limit. Found while encoding; the rest was never written.
    TooLarge,
    /// Its `Serialize` gave up.
    Failed,
}

/// The bytes of `value`, if they fit into `limit`.
///
/// # Errors
///
/// Says whether the limit or the value was in the way.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T, limit: usize) -> Result<Bytes, NotEncoded> {
    let mut out = Bounded {
        bytes: Vec::new(),
        limit,
        overflowed: false,
    };
    match value.serialize(&mut rmp_serde::Serializer::new(&mut out).with_struct_map()) {
        Ok(()) => Ok(out.bytes.into()),
        Err(_) if out.overflowed => Err(NotEncoded::TooLarge),
        Err(_) => Err(NotEncoded::Failed),
    }
}

/// The value behind `bytes`; `None` for another codec, another type, or bytes left over.
///
/// What cannot be read is a miss to the caller, so the reason is of no use to anybody.
pub(crate) fn decode<T: DeserializeOwned>(codec: u8, bytes: &[u8]) -> Option<T> {
    if codec != MESSAGE_PACK {
        return None;
    }
    let mut rest = bytes;
    let value = T::deserialize(&mut rmp_serde::Deserializer::new(&mut rest)).ok()?;
    rest.is_empty().then_some(value)
}

/// A writer that refuses the first byte above its limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if part.len() > self.limit - self.bytes.len() {
            self.overflowed = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Order {
        id: u64,
        note: Option<String>,
    }

    #[test]
    fn a_value_comes_back() {
        let order = Order { id: 7, note: None };
        let bytes = encode(&order, 1024).unwrap();
        assert_eq!(decode(MESSAGE_PACK, &bytes), Some(order));
    }

    #[test]
    fn the_limit_is_exact() {
        let text = "x".repeat(100);
        let exact = encode(&text, 1024).unwrap().len();
        assert!(encode(&text, exact).is_ok());
        assert_eq!(encode(&text, exact - 1), Err(NotEncoded::TooLarge));
    }

    #[test]
    fn a_value_above_the_limit_is_noticed_before_all_of_it_is_encoded() {
        struct Endless<'a>(&'a Cell<u32>);
        impl Serialize for Endless<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.set(self.0.get() + 1);
                serializer.serialize_bytes(&[0; 1000])
            }
        }
        let asked = Cell::new(0);
        let list: Vec<_> = (0..1_000_000).map(|_| Endless(&asked)).collect();
        assert_eq!(encode(&list, 10_000), Err(NotEncoded::TooLarge));
        assert!(asked.get() <= 10, "{} elements were encoded", asked.get());
    }

    #[test]
    fn leftover_bytes_another_codec_and_another_type_are_misses() {
        let mut bytes = encode(&7_u8, 16).unwrap().to_vec();
        assert_eq!(decode::<u8>(MESSAGE_PACK + 1, &bytes), None);
        assert_eq!(decode::<String>(MESSAGE_PACK, &bytes), None);
        bytes.push(0);
        assert_eq!(decode::<u8>(MESSAGE_PACK, &bytes), None);
    }
}
