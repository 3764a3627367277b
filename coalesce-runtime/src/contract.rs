//! The contract with generated code: what `#[coalesce]` writes into users' functions names only this module.
//!
//! Nothing here is for people to call, and it may change between any two versions.

pub use crate::__coalesce_register as register;
pub use crate::__coalesce_shape as shape;
pub use crate::roof::call::{Call, path_of};
pub use crate::roof::probe::Probe;
pub use crate::roof::shape::Shape;
pub use crate::roof::site::CallSite;
pub use crate::words::key::Piece;
pub use crate::words::key_part::KeyPart;
pub use crate::words::key_writer::KeyWriter;
pub use inventory;

/// The traits by which [`shape!`] finds the shape of a type.
pub mod probe {
    pub use crate::roof::probe::{
        AnOption, AnyValue, OptionErrorMessage, OptionOpaqueError, OptionSameError,
        ResultErrorMessage, ResultOpaqueError, ResultSameError,
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
