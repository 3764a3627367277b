//! Errors: everybody who waited gets the one error, and the next caller starts anew.
//!
//! ```text
//! cargo run --example errors
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, coalesce};

static RUNS: AtomicU32 = AtomicU32::new(0);

/// Serde carries it, so those who waited get the identical value.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum OrderError {
    NotFound(u64),
    /// What the library has to say: a timeout, or a Redis that may not be passed by.
    Unavailable(String),
}

impl From<coalesce::Error> for OrderError {
    fn from(error: coalesce::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

#[coalesce(fresh_ttl = "1m")]
async fn order(id: u64) -> Result<u64, OrderError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(100)).await;
    if id == 0 {
        return Err(OrderError::NotFound(id));
    }
    Ok(id)
}

/// An error is worth keeping when it is expensive to find out, and likely to be the same again.
#[coalesce(fresh_ttl = "1m", keep_errors = "2s")]
async fn missing(id: u64) -> Result<u64, OrderError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Err(OrderError::NotFound(id))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let coalescer = Coalescer::builder().in_process().build().await?;
    coalescer.make_default()?;

    let (one, other) = tokio::join!(order(0), order(0));
    assert_eq!(one, Err(OrderError::NotFound(0)));
    assert_eq!(one, other);
    let shared = RUNS.swap(0, Ordering::Relaxed);

    assert!(order(0).await.is_err() && order(0).await.is_err());
    let later = RUNS.swap(0, Ordering::Relaxed);

    assert!(missing(0).await.is_err() && missing(0).await.is_err());
    let kept = RUNS.swap(0, Ordering::Relaxed);

    assert_eq!((shared, later, kept), (1, 2, 1));
    #[expect(clippy::print_stdout, reason = "an example shows what happened")]
    {
        println!("2 callers at once: {shared} execution, and both have its error");
        println!("2 callers one after the other: {later} executions, an error is not kept");
        println!("2 callers one after the other, with keep_errors: {kept} execution");
    }
    Ok(())
}
