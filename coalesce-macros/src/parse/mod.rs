//! The attribute and its function as they are written, before anybody asks what they mean.

mod function;
mod options;
mod values;

pub(crate) use function::Function;
pub(crate) use options::{Options, Written};
pub(crate) use values::{Duration, EntryName, Size, Switch};
