//! Floor 0: the words every other floor speaks. Nothing here waits, sends or asks for the time.

pub(crate) mod canonical;
pub(crate) mod clock;
pub(crate) mod error;
pub(crate) mod fault;
pub(crate) mod key;
pub(crate) mod key_part;
mod key_part_foreign;
pub(crate) mod key_text;
pub(crate) mod key_writer;
pub(crate) mod known;
pub(crate) mod limiter;
pub(crate) mod policy;
pub(crate) mod switch;
pub(crate) mod token;
