//! Floor 3: the doors between deciding and doing.

pub(crate) mod coordinator;
pub(crate) mod headers;
pub(crate) mod health;
pub(crate) mod observer;
