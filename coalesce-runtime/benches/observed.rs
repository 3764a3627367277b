//! What watching costs: a fresh hit in the memory of this process, where nothing hides it, alone and told to an exporter.
//!
//! `cargo bench -p coalesce-runtime --features metrics --bench observed` prints, in one run, the time of a
//! hit with the built-in books, with an exporter beside them, and their ratio: medians of rounds that
//! take turns.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use coalesce_runtime::{Clocks, Coalescer, Policy};

const ROUNDS: usize = 101;
const CALLS: u32 = 2_000;

async fn hit(coalescer: &Coalescer, policy: &Arc<Policy>) -> u64 {
    let call = coalescer.call("bench").key(1).policy(Arc::clone(policy));
    call.run(|| async { 42 }).await
}

/// Nanoseconds per hit.
async fn round(coalescer: &Coalescer, policy: &Arc<Policy>) -> f64 {
    let begun = Instant::now();
    for _ in 0..CALLS {
        hit(coalescer, policy).await;
    }
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let exporter = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    metrics::set_global_recorder(exporter).unwrap();
    let minute = Duration::from_secs(60);
    let clocks = Clocks::new(60 * minute, None, minute, Some(2 * minute)).unwrap();
    let policy = Arc::new(Policy::new(clocks));
    let build = || Coalescer::builder().in_process();
    let books = build().build().await.unwrap();
    let told = build().metrics().build().await.unwrap();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(round(&books, &policy).await);
        two.push(round(&told, &policy).await);
    }
    let ratio = median(one.iter().zip(&two).map(|(one, two)| two / one).collect());
    let (one, two) = (median(one), median(two));
    println!("books alone {one:.0} ns, with an exporter {two:.0} ns: ratio {ratio:.2}");
}
