//! The contract with generated code: what `#[coalesce]` writes into users' functions names only this module.
//!
//! Nothing here is for people to call, and it may change between any two versions.

pub use std::any::type_name_of_val;
pub use std::boxed::Box;
pub use std::future::Future;
pub use std::marker::Send;

pub use crate::__coalesce_place as place;
pub use crate::__coalesce_register as register;
pub use crate::__coalesce_shape as shape;
pub use crate::codec;
pub use crate::roof::call::{Call, path_of};
pub use crate::roof::entry::Entry;
pub use crate::roof::lending::{copied, copied_option, lent, lent_option};
pub use crate::roof::probe::{coding, probe_of};
pub use crate::roof::shape::{Shape, output};
pub use crate::roof::site::{CallSite, Place};
pub use crate::words::key::Piece;
pub use crate::words::key_part::KeyPart;
pub use crate::words::key_writer::KeyWriter;
pub use inventory;

/// The traits by which [`shape!`] finds the shape of a type.
pub mod probe {
    pub use crate::roof::probe::{
        AnyValue, ResultErrorMessage, ResultOpaqueError, ResultSameError,
    };
}

/// Where the attribute stands.
#[doc(hidden)]
#[macro_export]
macro_rules! __coalesce_place {
    () => {
        $crate::contract::Place::new(::core::module_path!(), ::core::file!(), ::core::line!())
    };
}

/// Makes a call site known to every coalescer that is built in the program.
#[doc(hidden)]
#[macro_export]
macro_rules! __coalesce_register {
    ($site:expr) => {
        $crate::contract::inventory::submit! { $site }
    };
}
