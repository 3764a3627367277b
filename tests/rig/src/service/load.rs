//! A load: calls without an end to them, whose answers go to a file as they come.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::answer;
use crate::ledger::now_micros;
use crate::orders::{Answer, Burst, Tally};

static BEGUN: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU64 = AtomicU64::new(0);
static RETIRES: AtomicBool = AtomicBool::new(false);

/// No further call is made.
pub(super) fn retire() {
    RETIRES.store(true, Ordering::SeqCst);
}

pub(super) fn begun() -> u64 {
    BEGUN.load(Ordering::Relaxed)
}

pub(super) fn answered() -> u64 {
    ANSWERED.load(Ordering::Relaxed)
}

/// Makes the calls, each caller one after another, and says how many there were.
pub(super) async fn carry(burst: Burst, answers: &Path) -> Tally {
    let end = now_micros() + 1_000 * burst.lasts_ms.expect("a load that ends");
    let (sender, receiver) = unbounded_channel();
    let file = answers.to_owned();
    let writer = tokio::task::spawn_blocking(move || write(receiver, &file));
    let callers: Vec<_> = (0..burst.callers)
        .map(|number| {
            let (burst, sender) = (burst.clone(), sender.clone());
            tokio::spawn(async move {
                let key = burst.keys[number % burst.keys.len()].clone();
                while now_micros() < end && !RETIRES.load(Ordering::SeqCst) {
                    BEGUN.fetch_add(1, Ordering::Relaxed);
                    let answer = answer(&burst, &key, number).await;
                    ANSWERED.fetch_add(1, Ordering::Relaxed);
                    sender.send(answer).expect("a writer");
                    if burst.pause_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(burst.pause_ms)).await;
                    }
                }
            })
        })
        .collect();
    drop(sender);
    for caller in callers {
        caller.await.expect("a caller");
    }
    writer.await.expect("the last answer");
    Tally {
        begun: begun(),
        answered: answered(),
    }
}

/// Whole lines only: who is killed leaves none that is cut off.
fn write(mut answers: UnboundedReceiver<Answer>, path: &Path) {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let mut file = BufWriter::with_capacity(1 << 16, file.expect("a file for answers"));
    let mut lines = Vec::new();
    while let Some(answer) = answers.blocking_recv() {
        serde_json::to_writer(&mut lines, &answer).expect("an answer");
        lines.push(b'\n');
        if lines.len() > 1 << 15 || answers.is_empty() {
            file.write_all(&lines).expect("room for answers");
            file.flush().expect("room for answers");
            lines.clear();
        }
    }
    file.write_all(&lines).expect("room for answers");
    file.flush().expect("room for answers");
}
