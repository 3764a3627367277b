//! The probe: which shape a return type has, found by its type and not by its name.

use std::fmt::Display;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::form::{ErrorMessage, OpaqueError, Plain, SameError};
use super::lending::{Flight, Impossible, Never};
use super::shape::{Bare, Fallible};
use crate::format::codec::Codec;

/// Finds the shape of `R`, written with the codec `C`: the traits below are tried from the most to the
/// least particular one.
#[derive(Debug)]
pub struct Probe<R, C>(PhantomData<fn() -> (R, C)>);

macro_rules! probes {
    ($($trait:ident: [$($generic:ident),*] $probe:ty => $shape:ident<$form:ty $(, $error:ty)?> $(, where [$($bound:tt)*])?;)*) => {$(
        #[doc(hidden)]
        pub trait $trait {
            /// The shape found.
            type Found;
            /// The shape.
            fn shape(&self) -> Self::Found;
        }

        impl<$($generic),*> $trait for $probe $(where $($bound)*)? {
            type Found = $shape<$form $(, $error)?>;

            fn shape(&self) -> Self::Found {
                $shape::SHAPE
            }
        }
    )*};
}

// A method is looked up first on the type with the most references, so the order of this list is the
// number of `&` in front of `Probe`.
probes! {
    ResultSameError: [T, E, C] &&&Probe<Result<T, E>, C> => Fallible<Plain<C>, SameError<C>>,
        where [E: Serialize + DeserializeOwned];
    ResultErrorMessage: [T, E, C] &&Probe<Result<T, E>, C> => Fallible<Plain<C>, ErrorMessage>,
        where [E: Display];
    ResultOpaqueError: [T, E, C] &Probe<Result<T, E>, C> => Fallible<Plain<C>, OpaqueError>;
    AnyValue: [R, C] Probe<R, C> => Bare<Plain<C>>;
}

/// A codec, as a value.
#[derive(Debug)]
pub struct Coding<C>(PhantomData<fn() -> C>);

/// That a flight can be written with the codec `C`, which is a `D`.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not a codec",
    label = "it is to be `coalesce::codec::Codec`",
    note = "write `codec = json` or `codec = postcard` (features of these names), or implement `coalesce::codec::Codec` for `{C}`"
)]
pub trait Writes<C, D> {}

#[diagnostic::do_not_recommend]
impl<C: Codec> Writes<C, C> for Flight {}

#[diagnostic::do_not_recommend]
impl<C: Impossible> Writes<C, Never> for Flight {}

/// The codec of a call site, asked for on its own: what is none is said once, at its name.
pub const fn coding<C, D>() -> Coding<D>
where
    Flight: Writes<C, D>,
{
    Coding(PhantomData)
}

/// The probe for what a function returns.
pub const fn probe_of<R, C>(_: &Coding<C>) -> Probe<R, C> {
    Probe(PhantomData)
}

/// The shape of a return type, and the codec that it is written with.
#[doc(hidden)]
#[macro_export]
macro_rules! __coalesce_shape {
    ($returned:ty) => {
        $crate::contract::shape!(
            $returned,
            $crate::contract::coding::<$crate::codec::MessagePack, _>()
        )
    };
    ($returned:ty, $coding:expr) => {{
        #[expect(unused_imports, reason = "only the first that fits is used")]
        use $crate::contract::probe::{
            AnyValue as _, ResultErrorMessage as _, ResultOpaqueError as _, ResultSameError as _,
        };
        (&&&&$crate::contract::probe_of::<$returned, _>(&$coding)).shape()
    }};
}
