//! What users of attributes on async functions expect: one input for each row of `tests/MACRO_INPUTS.md`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod arguments;
mod hygiene;
mod lints;
mod methods;
mod outputs;
mod running;
mod table;
mod weight;

use coalesce::{Coalescer, Error};

/// The process-wide coalescer of these tests.
async fn ready() {
    let coalescer = Coalescer::builder().in_process().build().await;
    // All tests but one find it made already.
    let _ = coalescer.unwrap().make_default();
}

/// An error without `Clone`, `Display` and serde.
#[derive(Debug, PartialEq)]
enum Failure {
    Own(u64),
    Shared,
}

impl From<Error> for Failure {
    fn from(_: Error) -> Self {
        Self::Shared
    }
}

/// Ends a test that waits for nothing, long before anybody would.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    let limit = std::time::Duration::from_secs(10);
    tokio::time::timeout(limit, future)
        .await
        .expect("it waits for itself")
}
