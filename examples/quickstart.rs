//! Two concurrent calls of one annotated function, and one run of its body.
//!
//! ```text
//! cargo run --example quickstart
//! ```
//!
//! With `COALESCE_REDIS_URL` set, calls in other processes share the run, too.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::coalesce;

static EXECUTIONS: AtomicU32 = AtomicU32::new(0);

/// Slow, and the same for everybody who asks about one item at the same time.
#[coalesce]
async fn price_of(item: u32) -> u32 {
    EXECUTIONS.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(200)).await;
    item * 100
}

#[tokio::main]
async fn main() {
    let (one, other) = tokio::join!(price_of(7), price_of(7));
    assert_eq!((one, other), (700, 700));

    let executions = EXECUTIONS.load(Ordering::Relaxed);
    assert_eq!(executions, 1);
    #[expect(clippy::print_stdout, reason = "an example shows what happened")]
    {
        println!("2 calls, {executions} execution, {one} for both");
    }
}
