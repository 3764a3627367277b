//! Floor 5: what users and generated code see.

mod advice;
mod attendants;
mod backend;
pub(crate) mod body;
pub(crate) mod builder;
pub(crate) mod call;
pub(crate) mod coalescer;
mod company;
pub(crate) mod default;
pub(crate) mod direct;
pub(crate) mod entry;
pub(crate) mod form;
#[cfg(feature = "metrics")]
mod gauges;
pub(crate) mod health;
mod known;
#[cfg(feature = "tower")]
pub(crate) mod layer;
pub(crate) mod lending;
pub(crate) mod need;
pub(crate) mod probe;
pub(crate) mod self_bypass;
pub(crate) mod shape;
pub(crate) mod site;
pub(crate) mod site_list;
mod site_reader;
