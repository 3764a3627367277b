//! Floor 4a: the adapters. Each is a coordinator, and knows nothing of the others or of the drivers.

pub(crate) mod memory;
pub(crate) mod redis;
