//! Floor 5: what users and generated code see.

pub(crate) mod body;
pub(crate) mod builder;
pub(crate) mod call;
pub(crate) mod coalescer;
pub(crate) mod default;
pub(crate) mod direct;
pub(crate) mod entry;
#[cfg(feature = "metrics")]
mod gauges;
pub(crate) mod shape;
pub(crate) mod site;
mod site_reader;
