//! Floor 4a: texts of options, from what was written to what is meant.

pub(crate) mod interpolation;
pub(crate) mod quantity;
