//! The attribute end to end: functions that users write, called as users call them.

#![expect(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod arguments;
mod bodies;
#[cfg(all(feature = "json", feature = "postcard"))]
mod codecs;
mod entries;
mod hygiene;
mod keys;
mod neighbours;
mod options;
mod outputs;
mod receivers;
mod sharing;
mod silence;

use coalesce::{Coalescer, Error, Headers};

/// The process-wide coalescer of these tests: the memory of this process, whatever the environment.
async fn ready() {
    let coalescer = Coalescer::builder().in_process().build().await;
    // All tests but one find it made already.
    let _ = coalescer.unwrap().make_default();
}

/// The error of functions that return a `Result`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    Own(String),
    Coalesce(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Coalesce(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own(message) => f.write_str(message),
            Self::Coalesce(error) => error.fmt(f),
        }
    }
}

fn tenant(name: &str) -> Headers {
    Headers::new([("X-Tenant", name)])
}
