//! The `#[coalesce]` attribute.
