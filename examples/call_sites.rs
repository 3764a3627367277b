//! What is configured: every annotated function of the program, with its options resolved.
//!
//! ```text
//! cargo run --example call_sites
//! ORDERS_FRESH_TTL=2m cargo run --example call_sites
//! ```

use coalesce::{Coalescer, coalesce};

#[coalesce(
    fresh_ttl = "${ORDERS_FRESH_TTL:${FRESH_TTL:30s}}",
    stale_ttl = "5m",
    namespace = "${APP:shop}.orders"
)]
async fn order(id: u64) -> u64 {
    id
}

#[coalesce(
    enabled = "${PRICES_COALESCE:false}",
    max_payload = "${PRICES_MAX:64KiB}"
)]
async fn price(item: u64) -> u64 {
    item * 100
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Fails with everything that is wrong in the whole program, each with its file and line.
    let coalescer = Coalescer::builder().in_process().build().await?;
    coalescer.make_default()?;

    #[expect(clippy::print_stdout, reason = "an example shows what happened")]
    for site in coalesce::call_sites() {
        println!("{site}");
    }
    assert_eq!((order(1).await, price(1).await), (1, 100));
    Ok(())
}
