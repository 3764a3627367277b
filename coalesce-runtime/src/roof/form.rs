//! Forms: how the values and the errors inside a return type are written.

use std::fmt::{Display, Write as _};
use std::marker::PhantomData;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::format::codec::{self, Codec, NotEncoded};
use crate::format::outermost::{self, Outermost};
use crate::words::error::Error;

/// How the codec byte of an error says what its payload is. Other numbers are those of codecs.
pub(super) const OPAQUE_ERROR: u8 = 0;
pub(super) const TEXT_ERROR: u8 = 2;

/// No error message travels beyond this many bytes.
const LONGEST_MESSAGE: usize = 4 * 1024;

/// What can be written down for other callers: every type that serde can write and read.
///
/// It is implemented for all of them. A generic function that returns a `T` says `T: Shared`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared between callers",
    label = "other callers get it as bytes, so it is to be `serde::Serialize` and `serde::Deserialize`",
    note = "a type of your own: `#[derive(serde::Serialize, serde::Deserialize)]`, on every type inside it, too",
    note = "a type of another crate: enable the feature `serde` of that crate, or return what you need of it"
)]
pub trait Shared: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Shared for T {}

/// What can carry an error of this library: every type that can be made from one.
///
/// It is implemented for all of them. A generic function that returns a `Result<_, E>` says `E: CarriesErrors`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry the errors of a shared call",
    label = "it is to be `From<coalesce::Error>`",
    note = "whoever waits for another caller's flight can meet a timeout, or get an error that was written as text",
    note = "`impl From<coalesce::Error> for {Self}`, a variant with `#[from] coalesce::Error`, `anyhow::Error` and `Box<dyn std::error::Error + Send + Sync>` all do",
    note = "a function that returns neither `Result` nor an error runs its body instead"
)]
pub trait CarriesErrors: From<Error> {}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> CarriesErrors for E {}

/// How a value `T` is written.
pub trait ValueForm<T>: Copy + Send + Sync + 'static {
    /// The number of the codec.
    #[doc(hidden)]
    const CODEC: u8;
    #[doc(hidden)]
    fn write(value: &T, limit: usize) -> Result<Bytes, NotEncoded>;
    #[doc(hidden)]
    fn read(codec: u8, bytes: &[u8]) -> Option<T>;
    /// Whether it is an `Err` where nobody expected a `Result`.
    #[doc(hidden)]
    fn is_err(value: &T) -> bool;
}

/// How an error `E` is written.
pub trait ErrorForm<E>: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn write(error: &E, limit: usize) -> (u8, Bytes);
    #[doc(hidden)]
    fn read(codec: u8, bytes: &[u8]) -> Option<E>;
}

/// A value as serde sees it; an `Option` as a list of none or one, because serde formats write `Some(None)` and `None`
/// alike.
#[derive(Clone, Copy, Debug)]
pub struct Plain<C>(PhantomData<C>);

/// An error that serde can carry: followers get the identical value.
#[derive(Clone, Copy, Debug)]
pub struct SameError<C>(PhantomData<C>);

/// An error with a message: followers get an error made from it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorMessage;

/// An error without either: followers learn that the flight failed.
#[derive(Clone, Copy, Debug)]
pub struct OpaqueError;

impl<T: Shared, C: Codec> ValueForm<T> for Plain<C> {
    const CODEC: u8 = C::NUMBER;

    fn write(value: &T, limit: usize) -> Result<Bytes, NotEncoded> {
        codec::encode::<C, _>(&Outermost(value), limit)
    }

    fn read(codec: u8, bytes: &[u8]) -> Option<T> {
        codec::decode::<C, Outermost<T>>(codec, bytes).map(|it| it.0)
    }

    fn is_err(value: &T) -> bool {
        outermost::is_err(value)
    }
}

impl<E: Serialize + DeserializeOwned, C: Codec> ErrorForm<E> for SameError<C> {
    fn write(error: &E, limit: usize) -> (u8, Bytes) {
        match codec::encode::<C, _>(error, limit) {
            Ok(bytes) => (C::NUMBER, bytes),
            Err(_) => (OPAQUE_ERROR, Bytes::new()),
        }
    }

    fn read(codec: u8, bytes: &[u8]) -> Option<E> {
        codec::decode::<C, _>(codec, bytes)
    }
}

impl<E: Display> ErrorForm<E> for ErrorMessage {
    fn write(error: &E, limit: usize) -> (u8, Bytes) {
        let mut message = Clipped {
            text: String::new(),
            limit: limit.min(LONGEST_MESSAGE),
        };
        // Writing fails where the message is cut; what was written by then is kept.
        let _ = write!(message, "{error}");
        (TEXT_ERROR, message.text.into())
    }

    fn read(_: u8, _: &[u8]) -> Option<E> {
        None
    }
}

impl<E> ErrorForm<E> for OpaqueError {
    fn write(_: &E, _: usize) -> (u8, Bytes) {
        (OPAQUE_ERROR, Bytes::new())
    }

    fn read(_: u8, _: &[u8]) -> Option<E> {
        None
    }
}

/// A text that stops growing at its limit.
struct Clipped {
    text: String,
    limit: usize,
}

impl std::fmt::Write for Clipped {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let room = self.limit - self.text.len();
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        Err(std::fmt::Error)
    }
}
