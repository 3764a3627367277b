//! Floor 3: the doors between deciding and doing.

pub mod coordinator;
pub mod headers;
pub mod observer;
