//! Testing a service: pods that share one memory, and hours that pass in milliseconds.
//!
//! ```text
//! cargo test --example testing_your_service
//! ```
//!
//! Coalescers on one `MemoryCoordinator` are to each other what processes on one Redis are. With
//! tokio's paused time every lease, age and timeout passes as soon as nobody has anything to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, MemoryCoordinator, coalesce, coordination::Coordinator};

/// The service under test: the coalescer is given to it, so that a test can give it another.
#[derive(Clone)]
struct Service {
    coalescer: Coalescer,
    runs: Arc<AtomicU32>,
}

impl Service {
    #[coalesce(
        coalescer = self.coalescer,
        fresh_ttl = "1h",
        stale_ttl = "1d",
        wait_timeout = "1m",
        pending_ttl = "30s"
    )]
    async fn report(&self, year: u32) -> Result<String, coalesce::Error> {
        tokio::time::sleep(Duration::from_secs(10)).await; // the slow part
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(format!("{year}, edition {run}"))
    }
}

/// Pods that share what processes share through Redis.
#[expect(clippy::expect_used, reason = "an example has no better answer")]
async fn pods(count: usize) -> Vec<Service> {
    let coordinator: Arc<dyn Coordinator> = Arc::new(MemoryCoordinator::new());
    let runs = Arc::new(AtomicU32::new(0));
    let mut pods = Vec::new();
    for _ in 0..count {
        let coordinator = Arc::clone(&coordinator);
        let built = Coalescer::builder().coordinator(coordinator).build().await;
        pods.push(Service {
            coalescer: built.expect("the options of this program are right"),
            runs: Arc::clone(&runs),
        });
    }
    pods
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let pods = pods(2).await;
    let (one, other) = tokio::join!(pods[0].report(2026), pods[1].report(2026));
    assert_eq!(one, other);
    #[expect(clippy::print_stdout, reason = "an example shows what happened")]
    {
        println!("{one:?} in both pods; run it with `cargo test` for the rest");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn two_pods_share_one_execution() {
        let pods = pods(2).await;
        let (one, other) = tokio::join!(pods[0].report(2026), pods[1].report(2026));
        assert_eq!(
            (one.as_deref(), other.as_deref()),
            (Ok("2026, edition 1"), Ok("2026, edition 1"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_hour_the_old_report_is_served_while_a_new_one_is_made() {
        let pods = pods(2).await;
        pods[0].report(2026).await.unwrap();
        tokio::time::sleep(Duration::from_secs(3601)).await;
        assert_eq!(pods[1].report(2026).await.unwrap(), "2026, edition 1");
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(pods[0].report(2026).await.unwrap(), "2026, edition 2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_gives_up_ends_nobodys_report() {
        let pods = pods(1).await;
        let patience = Duration::from_secs(1);
        assert!(
            tokio::time::timeout(patience, pods[0].report(2026))
                .await
                .is_err()
        );
        assert_eq!(pods[0].report(2026).await.unwrap(), "2026, edition 1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_is_shut_down_hands_its_work_over() {
        let pods = pods(2).await;
        let leaving = pods[0].clone();
        let asked = tokio::spawn(async move { leaving.report(2026).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        pods[0].coalescer.shutdown(Duration::ZERO).await;
        assert!(pods[1].report(2026).await.is_ok());
        drop(asked);
    }
}
