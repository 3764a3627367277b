//! Shapes: how a return type is encoded, read back, and told of an error. Recognised by type, not by name.
//!
//! A `Result` shares its error and can carry ours; an `Option` keeps `None` and `Some(None)` apart;
//! anything else is a plain value, which has no way to carry an error.

use std::fmt::{Display, Write as _};
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::flight::leader::Produced;
use crate::flight::settlement::Outcome;
use crate::format::codec::{self, NotEncoded};
use crate::format::envelope::Status;
use crate::words::error::Error;

/// How the codec byte of an error says what its payload is. Values and errors share number 1.
const OPAQUE_ERROR: u8 = 0;
const TEXT_ERROR: u8 = 2;

/// No error message travels beyond this many bytes.
const LONGEST_MESSAGE: usize = 4 * 1024;

/// How a return type `R` crosses between callers.
pub trait Shape<R>: Copy + Send + Sync + 'static {
    /// The bytes of an outcome. `shared_here`: other callers of this process wait for it, too.
    #[doc(hidden)]
    fn encode(self, outcome: &R, limit: usize, shared_here: bool) -> Encoded;
    /// The outcome behind bytes; `None` when they are not of this type.
    #[doc(hidden)]
    fn decode(self, received: Received<'_>) -> Option<R>;
    /// An error of ours as an outcome; `None` where there is no way to carry it.
    #[doc(hidden)]
    fn failure(self, error: Error) -> Option<R>;
}

/// An encoded outcome.
#[derive(Debug)]
pub struct Encoded(pub(crate) Produced);

/// Bytes that came from another caller.
#[derive(Debug)]
pub struct Received<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) namespace: &'a Arc<str>,
}

/// How a value `T` is written.
pub trait ValueForm<T>: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn write(value: &T, limit: usize) -> Result<Bytes, NotEncoded>;
    #[doc(hidden)]
    fn read(codec: u8, bytes: &[u8]) -> Option<T>;
}

/// How an error `E` is written.
pub trait ErrorForm<E>: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn write(error: &E, limit: usize) -> (u8, Bytes);
    #[doc(hidden)]
    fn read(codec: u8, bytes: &[u8]) -> Option<E>;
}

/// A value as serde sees it.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// An `Option`, as a list of none or one: serde formats write `Some(None)` and `None` alike.
#[derive(Clone, Copy, Debug)]
pub struct Maybe;

/// A `Result`.
#[derive(Clone, Copy, Debug)]
pub struct Fallible<V, E>(PhantomData<fn() -> (V, E)>);

impl<V, E> Fallible<V, E> {
    /// The only value.
    pub const SHAPE: Self = Self(PhantomData);
}

/// An error that serde can carry: followers get the identical value.
#[derive(Clone, Copy, Debug)]
pub struct SameError;

/// An error with a message: followers get an error made from it.
#[derive(Clone, Copy, Debug)]
pub struct ErrorMessage;

/// An error without either: followers learn that the flight failed.
#[derive(Clone, Copy, Debug)]
pub struct OpaqueError;

impl<T: Serialize + DeserializeOwned> ValueForm<T> for Plain {
    fn write(value: &T, limit: usize) -> Result<Bytes, NotEncoded> {
        codec::encode(value, limit)
    }

    fn read(codec: u8, bytes: &[u8]) -> Option<T> {
        codec::decode(codec, bytes)
    }
}

impl<T: Serialize + DeserializeOwned> ValueForm<Option<T>> for Maybe {
    fn write(value: &Option<T>, limit: usize) -> Result<Bytes, NotEncoded> {
        codec::encode(value.as_slice(), limit)
    }

    fn read(codec: u8, bytes: &[u8]) -> Option<Option<T>> {
        let mut none_or_one: Vec<T> = codec::decode(codec, bytes)?;
        let value = none_or_one.pop();
        none_or_one.is_empty().then_some(value)
    }
}

impl<E: Serialize + DeserializeOwned> ErrorForm<E> for SameError {
    fn write(error: &E, limit: usize) -> (u8, Bytes) {
        match codec::encode(error, limit) {
            Ok(bytes) => (codec::MESSAGE_PACK, bytes),
            Err(_) => (OPAQUE_ERROR, Bytes::new()),
        }
    }

    fn read(codec: u8, bytes: &[u8]) -> Option<E> {
        codec::decode(codec, bytes)
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

impl<R> Shape<R> for Plain
where
    Self: ValueForm<R>,
{
    fn encode(self, outcome: &R, limit: usize, shared_here: bool) -> Encoded {
        value::<R, Self>(outcome, limit, shared_here)
    }

    fn decode(self, received: Received<'_>) -> Option<R> {
        let Outcome {
            status,
            codec,
            payload,
            ..
        } = received.outcome;
        (*status == Status::Done)
            .then(|| Self::read(*codec, payload))
            .flatten()
    }

    fn failure(self, _: Error) -> Option<R> {
        None
    }
}

impl<R> Shape<R> for Maybe
where
    Self: ValueForm<R>,
{
    fn encode(self, outcome: &R, limit: usize, shared_here: bool) -> Encoded {
        value::<R, Self>(outcome, limit, shared_here)
    }

    fn decode(self, received: Received<'_>) -> Option<R> {
        let Outcome {
            status,
            codec,
            payload,
            ..
        } = received.outcome;
        (*status == Status::Done)
            .then(|| Self::read(*codec, payload))
            .flatten()
    }

    fn failure(self, _: Error) -> Option<R> {
        None
    }
}

impl<T, E, V, F> Shape<Result<T, E>> for Fallible<V, F>
where
    V: ValueForm<T>,
    F: ErrorForm<E>,
    E: From<Error>,
{
    fn encode(self, outcome: &Result<T, E>, limit: usize, shared_here: bool) -> Encoded {
        match outcome {
            Ok(ok) => value::<T, V>(ok, limit, shared_here),
            Err(error) => {
                let (codec, payload) = F::write(error, limit);
                Encoded(Produced {
                    status: Status::Failed,
                    codec,
                    payload,
                    spare: None,
                })
            }
        }
    }

    fn decode(self, received: Received<'_>) -> Option<Result<T, E>> {
        let Outcome {
            status,
            codec,
            payload,
            ..
        } = received.outcome;
        match status {
            Status::Done => V::read(*codec, payload).map(Ok),
            Status::Failed => Some(Err(failed::<E, F>(*codec, payload, received.namespace))),
            Status::TooLarge | Status::Invalidated => None,
        }
    }

    fn failure(self, error: Error) -> Option<Result<T, E>> {
        Some(Err(error.into()))
    }
}

/// The error behind bytes. One that cannot be read is still an error: the flight did fail.
fn failed<E: From<Error>, F: ErrorForm<E>>(codec: u8, payload: &[u8], namespace: &Arc<str>) -> E {
    F::read(codec, payload).unwrap_or_else(|| {
        let text = (codec == TEXT_ERROR).then(|| String::from_utf8_lossy(payload));
        let message = text.filter(|text| !text.is_empty()).map(Arc::from);
        Error::Failed {
            namespace: Arc::clone(namespace),
            message,
        }
        .into()
    })
}

fn value<T, V: ValueForm<T>>(value: &T, limit: usize, shared_here: bool) -> Encoded {
    Encoded(match V::write(value, limit) {
        Ok(payload) => Produced {
            status: Status::Done,
            codec: codec::MESSAGE_PACK,
            payload,
            spare: None,
        },
        Err(why) => {
            // Only those who share this process can have it; without any the rest is never written.
            let spare = (shared_here && why == NotEncoded::TooLarge)
                .then(|| V::write(value, usize::MAX).ok());
            Produced {
                status: Status::TooLarge,
                codec: codec::MESSAGE_PACK,
                payload: Bytes::new(),
                spare: spare.flatten(),
            }
        }
    })
}

/// Finds the shape of `R`: the traits below are tried from the most to the least particular one.
#[derive(Debug)]
pub struct Probe<R>(PhantomData<fn() -> R>);

impl<R> Probe<R> {
    /// The only value.
    pub const NEW: Self = Self(PhantomData);
}

macro_rules! probes {
    ($($trait:ident: [$($generic:ident),*] $probe:ty => $shape:ty, $value:expr $(, where [$($bound:tt)*])?;)*) => {$(
        #[doc(hidden)]
        pub trait $trait {
            /// The shape found.
            type Found;
            /// The shape.
            fn shape(&self) -> Self::Found;
        }

        impl<$($generic),*> $trait for $probe $(where $($bound)*)? {
            type Found = $shape;

            fn shape(&self) -> $shape {
                $value
            }
        }
    )*};
}

// A method is looked up first on the type with the most references, so the order of this list is the
// number of `&` in front of `Probe`.
probes! {
    OptionSameError: [T, E] &&&&&&&Probe<Result<Option<T>, E>> => Fallible<Maybe, SameError>,
        Fallible::SHAPE, where [E: Serialize + DeserializeOwned];
    OptionErrorMessage: [T, E] &&&&&&Probe<Result<Option<T>, E>> => Fallible<Maybe, ErrorMessage>,
        Fallible::SHAPE, where [E: Display];
    OptionOpaqueError: [T, E] &&&&&Probe<Result<Option<T>, E>> => Fallible<Maybe, OpaqueError>,
        Fallible::SHAPE;
    ResultSameError: [T, E] &&&&Probe<Result<T, E>> => Fallible<Plain, SameError>,
        Fallible::SHAPE, where [E: Serialize + DeserializeOwned];
    ResultErrorMessage: [T, E] &&&Probe<Result<T, E>> => Fallible<Plain, ErrorMessage>,
        Fallible::SHAPE, where [E: Display];
    ResultOpaqueError: [T, E] &&Probe<Result<T, E>> => Fallible<Plain, OpaqueError>,
        Fallible::SHAPE;
    AnOption: [T] &Probe<Option<T>> => Maybe, Maybe;
    AnyValue: [R] Probe<R> => Plain, Plain;
}

/// The shape of a return type.
#[doc(hidden)]
#[macro_export]
macro_rules! __coalesce_shape {
    ($returned:ty) => {{
        #[expect(unused_imports, reason = "only the first that fits is used")]
        use $crate::contract::probe::{
            AnOption as _, AnyValue as _, OptionErrorMessage as _, OptionOpaqueError as _,
            OptionSameError as _, ResultErrorMessage as _, ResultOpaqueError as _,
            ResultSameError as _,
        };
        (&&&&&&&&$crate::contract::Probe::<$returned>::NEW).shape()
    }};
}
