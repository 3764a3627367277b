//! Floor 4a: the coordinators that ship with the crate.

pub(crate) mod redis;
