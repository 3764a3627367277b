//! Stale values: answered at once, while one refresh runs behind the answer.
//!
//! ```text
//! cargo run --example stale
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, coalesce};
use tokio::time::{Instant, sleep};

static RUNS: AtomicU32 = AtomicU32::new(0);

/// For 200 ms a value is fresh; for a minute it is better than waiting.
#[coalesce(fresh_ttl = "200ms", stale_ttl = "1m")]
async fn report(year: u32) -> String {
    sleep(Duration::from_millis(300)).await; // the slow part
    let run = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
    format!("{year}, edition {run}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let coalescer = Coalescer::builder().in_process().build().await?;
    coalescer.clone().make_default()?;

    let ask = async |what: &str| {
        let asked = Instant::now();
        let answer = report(2026).await;
        let waited = asked.elapsed().as_millis();
        #[expect(clippy::print_stdout, reason = "an example shows what happened")]
        {
            println!("{what:<28} {answer} after {waited:>3} ms");
        }
        answer
    };

    assert_eq!(ask("nothing is stored: waits").await, "2026, edition 1");
    assert_eq!(ask("fresh").await, "2026, edition 1");
    sleep(Duration::from_millis(250)).await;
    assert_eq!(ask("stale, and a refresh starts").await, "2026, edition 1");
    assert_eq!(ask("stale, while it runs").await, "2026, edition 1");

    while coalescer.in_flight() > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask("refreshed").await, "2026, edition 2");
    assert_eq!(coalescer.counts().refreshes, 1);
    Ok(())
}
