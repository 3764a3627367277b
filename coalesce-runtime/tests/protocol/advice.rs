//! The advisor beside the arithmetic: what it measures of calls that come at random is what was made to happen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use coalesce_runtime::{Advice, Clocks, Coalescer, Policy, Verdict};
use tracing::subscriber::DefaultGuard;

use crate::fleet::{Fleet, Ledger, MS};

/// 4,000 calls of 20 keys at random moments, `gap` apart on average, of a body of 100 ms.
async fn advice(gap: Duration, fresh_ttl: Duration) -> (Advice, usize) {
    let (fleet, ledger) = (Fleet::of(1).await, Ledger::default());
    let clocks = Clocks::new(fresh_ttl, None, 30_000 * MS, Some(45_000 * MS)).unwrap();
    let policy = Arc::new(Policy::new(clocks));
    let mut random = fastrand::Rng::with_seed(7);
    let mut callers = Vec::new();
    for _ in 0..4_000 {
        tokio::time::sleep(gap.mul_f64(-(1.0 - random.f64()).ln())).await;
        let call = fleet.pods[0].call("n").key(random.u8(..20));
        let (call, ledger) = (call.policy(Arc::clone(&policy)), ledger.clone());
        callers.push(tokio::spawn(
            call.run(move || async move { ledger.run(100 * MS).await }),
        ));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    let advice = fleet.pods[0].snapshot_of("n").unwrap().advice;
    (advice, ledger.runs())
}

#[tokio::test(start_paused = true)]
async fn keys_that_meet_save_what_their_ratio_predicts() {
    // Each key once a second, shared for a second: a ratio of 1 saves half.
    let (advice, runs) = advice(50 * MS, 900 * MS).await;
    assert!((advice.ratio - 1.0).abs() < 0.1, "{advice:?}");
    assert!((advice.predicted_saving - 0.5).abs() < 0.03, "{advice:?}");
    assert!(
        (advice.saving - advice.predicted_saving).abs() < 0.05,
        "{advice:?}"
    );
    let right = 1.0 - f64::from(u32::try_from(runs).unwrap()) / 4_000.0;
    assert!((advice.saving - right).abs() < 1e-9, "{advice:?} {right}");
    assert!(advice.gained_seconds > 0.04, "{advice:?}");
}

#[tokio::test(start_paused = true)]
async fn keys_that_meet_often_are_strong_and_keys_that_never_meet_are_not() {
    let (often, _) = advice(5 * MS, 900 * MS).await;
    assert_eq!(often.verdict, Verdict::Strong, "{often:?}");
    assert!(
        (often.predicted_saving - 10.0 / 11.0).abs() < 0.02,
        "{often:?}"
    );
    assert!(
        (often.saving - often.predicted_saving).abs() < 0.05,
        "{often:?}"
    );
    let (rarely, _) = advice(2_000 * MS, Duration::ZERO).await;
    assert!(
        rarely.verdict != Verdict::Strong && rarely.saving < 0.02,
        "{rarely:?}"
    );
    assert!(rarely.words.contains("a fresh_ttl of"), "{rarely:?}");
}

/// What is logged, as text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// From now on this thread logs into that buffer.
pub(crate) fn logged() -> (Arc<Mutex<Vec<u8>>>, DefaultGuard) {
    let writer = Log::default();
    let written = Arc::clone(&writer.0);
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone());
    coalesce_rig::hear_everything();
    let guard = tracing::subscriber::set_default(subscriber.with_ansi(false).finish());
    (written, guard)
}

#[tokio::test(start_paused = true)]
async fn the_advice_is_logged_once_a_pause_for_namespaces_with_enough_calls() {
    let (written, _guard) = logged();
    let builder = Coalescer::builder().in_process();
    let pod = builder.advise_every(60_000 * MS).build().await.unwrap();
    for (namespace, calls) in [("much", 200), ("little", 99)] {
        for key in 0..calls {
            pod.call(namespace).key(key).run(|| async { 1 }).await;
        }
    }
    tokio::time::sleep(90_000 * MS).await;
    let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| line.contains("what coalescing does"))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(
        lines[0].contains("much") && lines[0].contains("saving"),
        "{text}"
    );
}
