//! The runtime behind `#[coalesce]`.
