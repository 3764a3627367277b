//! Codecs: values as bytes, bounded while they are written, and read whole or not at all.

use std::io;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::depth::{self, DEEPEST};
use super::depth_written::guarded;

/// How the values of a call site become bytes: `codec = my::Codec`.
///
/// Whatever is written by one deployment is read by the next, and by the one before. So what matters in
/// a codec is what it does with the bytes of another version of a type: those that it refuses are a
/// miss, and the body runs; those that it reads as something else are a wrong answer.
///
/// ```
/// use std::io;
///
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::codec::Codec;
/// use serde::{Serialize, de::DeserializeOwned};
///
/// /// MessagePack without field names: smaller, and to be used with `version`.
/// #[derive(Clone, Copy, Debug)]
/// struct Compact;
///
/// impl Codec for Compact {
///     const NUMBER: u8 = 128;
///
///     fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
///         let mut out = rmp_serde::Serializer::new(out);
///         value.serialize(&mut out).map_err(io::Error::other)
///     }
///
///     fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
///         rmp_serde::from_slice(bytes).ok()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a codec",
    note = "write `codec = json` or `codec = postcard` (features of these names), or implement `coalesce::codec::Codec` for `{Self}`"
)]
pub trait Codec: Copy + Send + Sync + 'static {
    /// Stands in every stored entry: bytes of another codec are a miss.
    ///
    /// From 128 upwards, and unlike that of any other codec in the fleet: under one number, the bytes of one
    /// codec would be read by another. The numbers below are this library's, and another codec with one of
    /// them does not compile.
    const NUMBER: u8;

    /// Whose the number is.
    #[doc(hidden)]
    const OWNER: Owner = Owner::User;

    /// Writes a value. `out` fails above the payload limit.
    ///
    /// # Errors
    ///
    /// Those of `out`, and that the value has no bytes, or such as [`decode`](Self::decode) would refuse. Either way it
    /// is not stored: what is stored and cannot be read sends every caller to its body.
    fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()>;

    /// Reads a value; `None` unless all of `bytes` is one.
    ///
    /// The bytes are a stranger's: whoever can write to Redis decides how deep a recursive type is read, and a stack
    /// that ends takes the process with it. The library's codecs write and read no value of more than 128 levels: lists,
    /// maps, structures, enums and options one within another.
    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T>;
}

/// Whose a codec is. No user can name it, so none can take a number of the library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Everybody else.
    User,
    /// This library.
    Library,
}

/// `MessagePack` with names, the default: field names travel with the values, so that fields can be
/// added, removed and reordered between two deployments. (The compact form swaps reordered fields
/// silently.)
#[derive(Clone, Copy, Debug)]
pub struct MessagePack;

#[diagnostic::do_not_recommend]
impl Codec for MessagePack {
    const NUMBER: u8 = 1;
    const OWNER: Owner = Owner::Library;

    fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = rmp_serde::Serializer::new(out).with_struct_map();
        let value = guarded(value, DEEPEST);
        value.serialize(&mut out).map_err(io::Error::other)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        let mut rest = bytes;
        let value = depth::read(&mut rmp_serde::Deserializer::new(&mut rest)).ok()?;
        rest.is_empty().then_some(value)
    }
}

/// JSON, for entries that people or other programs read. Needs the feature `json`.
///
/// A value that JSON cannot hold, such as a map whose keys are structures, is not stored. A float that is not
/// finite becomes `null`: an `Option` of it is read as `None`, and anything else cannot be read.
#[cfg(feature = "json")]
#[derive(Clone, Copy, Debug)]
pub struct Json;

#[cfg(feature = "json")]
#[diagnostic::do_not_recommend]
impl Codec for Json {
    const NUMBER: u8 = 3;
    const OWNER: Owner = Owner::Library;

    fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
        // Of lists and maps its reader takes one less than we do.
        let value = guarded(value, DEEPEST - 1);
        serde_json::to_writer(out, &value).map_err(io::Error::from)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        let mut rest = serde_json::Deserializer::from_slice(bytes);
        let value = depth::read(&mut rest).ok()?;
        rest.end().ok().map(|()| value)
    }
}

/// Postcard, the smallest: values alone. Needs the feature `postcard`.
///
/// Nothing in its bytes says what they are. Whoever changes a type gives the call site a new `version`:
/// fields that were swapped, added or removed can be read as others. A type that leaves fields out
/// (`skip_serializing_if`) is not for it, since what is left out is not missed and the rest is read as something
/// else; and what has no shape of its own (`flatten`, `untagged`, `tag`) is never readable.
#[cfg(feature = "postcard")]
#[derive(Clone, Copy, Debug)]
pub struct Postcard;

#[cfg(feature = "postcard")]
#[diagnostic::do_not_recommend]
impl Codec for Postcard {
    const NUMBER: u8 = 4;
    const OWNER: Owner = Owner::Library;

    fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
        postcard::to_io(&guarded(value, DEEPEST), out)
            .map(drop)
            .map_err(io::Error::other)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        let mut rest = postcard::Deserializer::from_bytes(bytes);
        let value = depth::read(&mut rest).ok()?;
        rest.finalize().ok()?.is_empty().then_some(value)
    }
}

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
pub(crate) fn encode<C: Codec, T: Serialize + ?Sized>(
    value: &T,
    limit: usize,
) -> Result<Bytes, NotEncoded> {
    const {
        let own = matches!(C::OWNER, Owner::Library);
        assert!(
            own || C::NUMBER >= 128,
            "the numbers of codecs below 128 are this library's: `const NUMBER: u8 = 128`, or another one that no \
             codec in the fleet has"
        );
    }
    let mut out = Bounded {
        bytes: Vec::new(),
        limit,
        overflowed: false,
    };
    match C::encode(value, &mut out) {
        // A codec that passes over the failure of its writer has written half a value.
        _ if out.overflowed => Err(NotEncoded::TooLarge),
        Ok(()) => Ok(out.bytes.into()),
        Err(_) => Err(NotEncoded::Failed),
    }
}

/// The value behind `bytes`; `None` for another codec, another type, or bytes left over.
///
/// What cannot be read is a miss to the caller, so the reason is of no use to anybody.
pub(crate) fn decode<C: Codec, T: DeserializeOwned>(codec: u8, bytes: &[u8]) -> Option<T> {
    (codec == C::NUMBER).then(|| C::decode(bytes)).flatten()
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
#[path = "codec_tests.rs"]
mod tests;
