//! Shapes: how a return type is encoded, read back, and told of an error. Recognised by type, not by name.
//!
//! A `Result` shares its error and can carry ours; anything else is a plain value, which has no way to carry ours.
//! Where generic code hides a `Result` behind a `T`, its `Err` is an error all the same, as serde writes it.

use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;

use super::form::{CarriesErrors, ErrorForm, OPAQUE_ERROR, TEXT_ERROR, ValueForm};
use crate::flight::report::Produced;
use crate::flight::settlement::Outcome;
use crate::format::codec::NotEncoded;
use crate::format::envelope::Status;
use crate::words::error::Error;

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
    /// Whether an outcome is an error.
    #[doc(hidden)]
    fn is_error(self, outcome: &R) -> bool;
}

/// What a body returns. It stands behind `if false`, so that the compiler knows it before it reads the body.
pub fn output<R>() -> R {
    unreachable!("generated code names the type of a body, and asks for no value")
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

/// Nothing but a value.
#[derive(Clone, Copy, Debug)]
pub struct Bare<V>(PhantomData<fn() -> V>);

impl<V> Bare<V> {
    /// The only value.
    pub const SHAPE: Self = Self(PhantomData);
}

/// A `Result`.
#[derive(Clone, Copy, Debug)]
pub struct Fallible<V, E>(PhantomData<fn() -> (V, E)>);

impl<V, E> Fallible<V, E> {
    /// The only value.
    pub const SHAPE: Self = Self(PhantomData);
}

impl<R, V: ValueForm<R>> Shape<R> for Bare<V> {
    fn encode(self, outcome: &R, limit: usize, shared_here: bool) -> Encoded {
        if !V::is_err(outcome) {
            return value::<R, V>(outcome, limit, shared_here);
        }
        let (codec, payload) = match V::write(outcome, limit) {
            Ok(payload) => (V::CODEC, payload),
            Err(_) => (OPAQUE_ERROR, Bytes::new()),
        };
        failure(codec, payload)
    }

    fn decode(self, received: Received<'_>) -> Option<R> {
        let outcome = received.outcome;
        matches!(outcome.status, Status::Done | Status::Failed)
            .then(|| V::read(outcome.codec, &outcome.payload))
            .flatten()
    }

    fn failure(self, _: Error) -> Option<R> {
        None
    }

    fn is_error(self, outcome: &R) -> bool {
        V::is_err(outcome)
    }
}

impl<T, E, V, F> Shape<Result<T, E>> for Fallible<V, F>
where
    V: ValueForm<T>,
    F: ErrorForm<E>,
    E: CarriesErrors,
{
    fn encode(self, outcome: &Result<T, E>, limit: usize, shared_here: bool) -> Encoded {
        match outcome {
            Ok(ok) => value::<T, V>(ok, limit, shared_here),
            Err(error) => {
                let (codec, payload) = F::write(error, limit);
                failure(codec, payload)
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

    fn is_error(self, outcome: &Result<T, E>) -> bool {
        outcome.is_err()
    }
}

const fn failure(codec: u8, payload: Bytes) -> Encoded {
    Encoded(Produced {
        status: Status::Failed,
        codec,
        payload,
        spare: None,
    })
}

/// The error behind bytes. One that cannot be read is still an error: the flight did fail.
fn failed<E: CarriesErrors, F: ErrorForm<E>>(codec: u8, payload: &[u8], namespace: &Arc<str>) -> E {
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
            codec: V::CODEC,
            payload,
            spare: None,
        },
        Err(why) => {
            // Only those who share this process can have it; without any the rest is never written.
            let spare = (shared_here && why == NotEncoded::TooLarge)
                .then(|| V::write(value, usize::MAX).ok());
            Produced {
                status: Status::TooLarge,
                codec: V::CODEC,
                payload: Bytes::new(),
                spare: spare.flatten(),
            }
        }
    })
}
