//! Floor 0: the words every other floor speaks. Nothing here waits, sends or asks for the time.

pub mod clock;
pub mod error;
pub mod fault;
pub mod key;
pub mod key_part;
pub mod key_text;
pub mod policy;
pub mod token;
