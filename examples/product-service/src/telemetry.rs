//! Logs to standard output, and the recorder behind `/metrics`.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Upper ends of the buckets of everything that is measured in seconds: a stored product takes
/// half a millisecond, a read that outlives its lock takes six seconds.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The same for bytes.
const BYTES: [f64; 6] = [64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0];

/// Logs what is of interest to an operator, one line each.
pub fn log() {
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .init();
}

/// The recorder of this process; installed with the first call, inside a runtime.
///
/// # Panics
///
/// When the process has another recorder already: nothing would ever be shown.
pub fn recorder() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER.get_or_init(install).clone()
}

#[expect(
    clippy::expect_used,
    reason = "a program that installs two recorders is wrong in itself"
)]
fn install() -> PrometheusHandle {
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("seconds".to_owned()), &SECONDS)
        .and_then(|builder| {
            builder.set_buckets_for_metric(Matcher::Suffix("bytes".to_owned()), &BYTES)
        })
        .expect("there are buckets")
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).expect("no other recorder");
    describe();
    begin();
    let upkeep = handle.clone();
    tokio::spawn(async move {
        // Without it, what is measured between two scrapes would pile up.
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            upkeep.run_upkeep();
        }
    });
    handle
}

fn describe() {
    use metrics::{Unit, describe_counter, describe_histogram};
    describe_counter!(
        "http_requests_total",
        Unit::Count,
        "Requests that were answered"
    );
    describe_histogram!(
        "http_request_duration_seconds",
        Unit::Seconds,
        "How long an answer took"
    );
    describe_counter!(
        "product_database_reads_total",
        Unit::Count,
        "Reads of the database that began"
    );
    describe_histogram!(
        "product_database_read_seconds",
        Unit::Seconds,
        "How long a read of the database took"
    );
    describe_counter!(
        "product_limiter_total",
        Unit::Count,
        "Product reads at the limiter, by decision"
    );
    metrics_process::Collector::default().describe();
}

/// Begins series at 0: an alarm on what they gain would not notice the first step of one that appears with it.
fn begin() {
    metrics::counter!("product_database_reads_total").increment(0);
    for decision in ["allowed", "rejected", "failed_open"] {
        metrics::counter!("product_limiter_total", "decision" => decision).increment(0);
    }
}
