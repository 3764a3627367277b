//! Floor 1: how outcomes look as bytes.

pub(crate) mod codec;
pub(crate) mod depth;
pub(crate) mod depth_written;
pub(crate) mod envelope;
pub(crate) mod message;
pub(crate) mod outermost;
pub(crate) mod traceparent;
