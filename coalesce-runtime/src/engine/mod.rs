//! Floor 2: the decisions. Plain functions and values: no async, no I/O, no clock calls.

pub mod ask;
pub mod cell;
pub mod follow;
pub mod lease;
pub mod poll;
pub mod reading;
