//! Coalesce: one execution for the whole fleet.
