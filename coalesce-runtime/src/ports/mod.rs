//! Floor 3: the doors between deciding and doing.

pub(crate) mod coordinator;
pub(crate) mod event;
pub(crate) mod headers;
pub(crate) mod health;
pub(crate) mod observed;
pub(crate) mod observer;
pub(crate) mod ticket;
pub(crate) mod trace;
pub(crate) mod wanted;
