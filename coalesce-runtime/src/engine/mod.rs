//! Floor 2: the decisions. Plain functions and values: no async, no I/O, no clock calls.

pub(crate) mod ask;
pub(crate) mod cell;
pub(crate) mod follow;
pub(crate) mod lease;
pub(crate) mod poll;
pub(crate) mod reading;
