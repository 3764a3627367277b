//! Choosing the clocks: one load under three choices, and the figures from which each next choice is made.
//!
//! ```text
//! cargo run --example clocks
//! ```

use std::sync::Arc;
use std::time::Duration;

use coalesce::{Clocks, Coalescer, NamespaceSnapshot, Policy};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const NAMESPACE: &str = "shop::price";

/// Twenty keys, each called every other second at random moments, for ten minutes of tokio's paused time. The body
/// takes 400 ms, and every fiftieth time 4 s.
async fn measured(clocks: Clocks) -> Option<NamespaceSnapshot> {
    let coalescer = Coalescer::builder().in_process().build().await.ok()?;
    let policy = Arc::new(Policy::new(clocks));
    let mut random = fastrand::Rng::with_seed(7);
    let mut callers = Vec::new();
    for _ in 0..6_000 {
        sleep(SECOND.mul_f64(-(1.0 - random.f64()).ln() / 10.0)).await;
        let call = coalescer.call(NAMESPACE).key(random.u8(..20));
        let slow = random.u8(..50) == 0;
        callers.push(tokio::spawn(call.policy(Arc::clone(&policy)).run(
            move || async move {
                sleep(if slow { 4 * SECOND } else { 2 * SECOND / 5 }).await;
            },
        )));
    }
    for caller in callers {
        caller.await.ok()?;
    }
    coalescer.snapshot_of(NAMESPACE)
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn shown(choice: &str, of: &NamespaceSnapshot) -> String {
    let (traffic, bodies, advice) = (&of.traffic, &of.execution_seconds, &of.advice);
    let waited = of.outcomes.led + of.outcomes.followed;
    let lines = [
        choice.to_owned(),
        format!(
            "  calls of a key in a second  {:.2}",
            traffic.calls_per_key_and_second
        ),
        format!("  ratio                       {:.1}", advice.ratio),
        format!(
            "  bodies saved                {:.0} %, predicted {:.0} %",
            100.0 * advice.saving,
            100.0 * advice.predicted_saving
        ),
        format!(
            "  a body                      p50 {:.1} s, longest {:.1} s",
            bodies.p50, bodies.max
        ),
        format!(
            "  calls that waited           {:.0} %, followers up to {:.1} s",
            100.0 * waited as f64 / of.calls as f64,
            of.wait_seconds.max
        ),
        format!("  {}\n", advice.words.replace("; ", ";\n  ")),
    ];
    lines.join("\n")
}

/// What is measured under each choice.
async fn all() -> Result<String, Box<dyn std::error::Error>> {
    let (pending, wait) = (15 * SECOND, Some(20 * SECOND));
    let choices = [
        ("nothing retained", Duration::ZERO, None),
        ("fresh_ttl = \"10s\"", 10 * SECOND, None),
        (
            "fresh_ttl = \"10s\", stale_ttl = \"5m\"",
            10 * SECOND,
            Some(300 * SECOND),
        ),
    ];
    let mut all = Vec::new();
    for (choice, fresh, stale) in choices {
        let clocks = Clocks::new(fresh, stale, pending, wait)?;
        let snapshot = measured(clocks).await.ok_or("a call was lost")?;
        all.push(shown(choice, &snapshot));
    }
    Ok(all.join("\n"))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(clippy::print_stdout, reason = "an example shows what it measured")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", all().await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Times are paused and chance has a seed, so it prints the same everywhere.
    #[tokio::test(start_paused = true)]
    async fn the_page_shows_what_it_prints() {
        let page = include_str!("../docs/clocks.md");
        let printed = super::all().await.unwrap_or_else(|error| error.to_string());
        let block = page.split("```text\n").nth(1).unwrap_or_default();
        assert_eq!(block.split("```").next(), Some(&*printed));
    }
}
