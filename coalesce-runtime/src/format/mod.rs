//! Floor 1: how outcomes look as bytes.

pub mod codec;
pub mod envelope;
pub mod message;
