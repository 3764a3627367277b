//! Fuzzing: what must hold for any bytes at all, one function for each place where a stranger's bytes come in.
//!
//! The targets in `fuzz/` call these functions, and so does a test here, with the seeds that the fuzzer
//! starts from. So no target can rot unseen. Compiled for tests and by the fuzzer only.
//!
//! A function returns when everything holds and panics when something does not.

mod keys;
mod stored;
mod texts;

pub use crate::backend::redis::fuzzing::{reply, url};
pub use keys::key;
pub use stored::{codec, envelope, message};
pub use texts::{known, option, switch};

#[cfg(test)]
mod seeds;
