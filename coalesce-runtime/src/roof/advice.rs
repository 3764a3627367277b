//! The advisor's line in the log, for those who asked for it.

use std::sync::Weak;
use std::time::Duration;

use crate::advisor::Verdict;
use crate::books::Books;

/// Says for each namespace with enough calls what the numbers say, for as long as the coalescer is there.
pub(super) async fn say_every(pause: Duration, books: Weak<Books>) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(books) = books.upgrade() else {
            return;
        };
        for (namespace, page) in books.snapshot().namespaces {
            let advice = page.advice;
            if advice.verdict == Verdict::TooFewCalls {
                continue;
            }
            tracing::info!(
                namespace,
                verdict = advice.words,
                ratio = advice.ratio,
                predicted_saving = advice.predicted_saving,
                saving = advice.saving,
                added_seconds = advice.added_seconds,
                "what coalescing does"
            );
        }
    }
}
