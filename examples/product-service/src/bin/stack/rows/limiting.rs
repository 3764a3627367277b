//! The case of the limiter that the replicas share.

use std::time::Duration;

use anyhow::Result;

use super::product;
use crate::load::{burst, get};
use crate::stack::Stack;
use crate::verdict::Row;

const WINDOW_MS: u64 = 10_000;

pub async fn limit(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.limit(100, WINDOW_MS).await?;
    let front = stack.nginx.url();
    let url = product(&front, 1);
    burst(&stack.http, &format!("{front}/healthz"), 300).await;
    let answers = burst(&stack.http, &url, 300).await;
    row.count("200", 100, answers.with(200));
    row.count("429", 200, answers.with(429));
    let said = |answer: &&crate::load::Answer| answer.status == 429 && answer.retry_after.is_some();
    row.count(
        "with `Retry-After`",
        200,
        answers.0.iter().filter(said).count(),
    );

    let seconds = answers
        .0
        .iter()
        .filter_map(|answer| answer.retry_after)
        .max()
        .unwrap_or_default();
    row.at_most("`Retry-After`, in seconds", WINDOW_MS / 1_000, seconds);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    row.count(
        "after that many seconds",
        200,
        get(&stack.http, &url).await.status,
    );
    Ok(())
}
