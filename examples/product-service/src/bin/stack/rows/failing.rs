//! Cases of something that dies: a leading replica, the database, Redis.

use std::time::Duration;

use anyhow::{Result, ensure};
use product_service::http::Status;
use tokio::time::Instant;

use super::product;
use crate::load::{burst, get};
use crate::stack::Stack;
use crate::verdict::Row;

const PRODUCT: u64 = 1;

/// What a leader that dies leaves behind ends by itself after this time: `PENDING_TTL`.
const LEASE: Duration = Duration::from_secs(5);

/// The first replica leads, readers at the front and at the two others wait for it, and it is killed.
pub async fn leader(stack: &mut Stack, row: &mut Row) -> Result<()> {
    let delay = Duration::from_secs(1);
    stack.faults(1_000, false).await?;
    // Its read lasts until all of them have come, however slow the machine is: it is killed in it.
    stack.replicas[0].faults(5_000, false).await?;
    let bases = [
        stack.nginx.url(),
        stack.replicas[1].url(),
        stack.replicas[2].url(),
    ];
    for (base, requests) in bases.iter().zip([60, 30, 30]) {
        burst(&stack.http, &format!("{base}/healthz"), requests).await;
    }
    let reads = stack.postgres.reads().await?;
    let leading = tokio::spawn({
        let (http, url) = (
            stack.http.clone(),
            product(&stack.replicas[0].url(), PRODUCT),
        );
        async move { get(&http, &url).await }
    });
    stack.calls_in_progress(1.0).await?;
    let load = tokio::spawn({
        let http = stack.http.clone();
        async move {
            let [front, second, third] = bases.map(|base| product(&base, PRODUCT));
            let loads = [
                burst(&http, &front, 60),
                burst(&http, &second, 30),
                burst(&http, &third, 30),
            ];
            futures_util::future::join_all(loads).await
        }
    });
    stack.calls_in_progress(121.0).await?;
    stack.replicas[0].kill();
    let at_front_and_living = load.await?;
    let killed = leading.await?;

    row.count("its own caller got no answer", 0, killed.status);
    for (answers, (where_to, requests)) in at_front_and_living.iter().zip([
        ("at the front", 60),
        ("at the second replica", 30),
        ("at the third replica", 30),
    ]) {
        let all = answers.with(200) == requests;
        row.holds(
            &format!("{requests} × 200 {where_to}"),
            all,
            answers.statuses(),
        );
        row.within(
            &format!("longest {where_to}"),
            LEASE + delay,
            Duration::from_secs(1),
            answers.longest(),
        );
    }
    // The killed one may have reached the database, or not yet.
    row.at_most("database reads", 2, stack.postgres.reads().await? - reads);
    stack.replicas[0].restart().await
}

/// The delay is as long as it takes 300 requests to arrive, since a failure is shared and not kept.
pub async fn database(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(1_000, true).await?;
    let front = stack.nginx.url();
    burst(&stack.http, &format!("{front}/healthz"), 300).await;
    let begun = stack.reads_begun().await?;
    let answers = burst(&stack.http, &product(&front, PRODUCT), 300).await;
    row.holds("300 × 503", answers.with(503) == 300, answers.statuses());
    row.count(
        "reads that were tried",
        1,
        stack.reads_begun().await? - begun,
    );
    let (delay, margin) = (Duration::from_secs(1), Duration::from_millis(150));
    row.within("longest", delay, margin, answers.longest());
    stack.faults(0, false).await?;
    let next = get(&stack.http, &product(&front, PRODUCT)).await;
    row.count("the next, with the database back", 200, next.status);
    Ok(())
}

pub async fn postgres(stack: &mut Stack, row: &mut Row) -> Result<()> {
    let front = stack.nginx.url();
    burst(&stack.http, &format!("{front}/healthz"), 300).await;
    stack.postgres.crash().await?;
    let answers = burst(&stack.http, &product(&front, PRODUCT), 300).await;
    row.holds("300 × 503", answers.with(503) == 300, answers.statuses());
    row.within(
        "longest",
        Duration::ZERO,
        Duration::from_secs(2),
        answers.longest(),
    );
    stack.postgres.restart().await?;
    serve_again(stack, row).await
}

pub async fn redis(stack: &mut Stack, row: &mut Row) -> Result<()> {
    let front = stack.nginx.url();
    let url = product(&front, PRODUCT);
    stack.limit(10_000, 10_000).await?;
    burst(&stack.http, &format!("{front}/healthz"), 60).await;
    get(&stack.http, &url).await;
    let before = stack.sum(failed_open).await?;
    stack.redis.kill();
    let answers = burst(&stack.http, &url, 60).await;
    row.holds("60 × 503", answers.with(503) == 60, answers.statuses());
    row.within(
        "longest",
        Duration::ZERO,
        Duration::from_secs(2),
        answers.longest(),
    );
    row.count(
        "admitted by a limiter without Redis",
        60,
        stack.sum(failed_open).await? - before,
    );
    stack.redis.restart().await?;
    serve_again(stack, row).await
}

/// What failed is back: each replica serves the product.
async fn serve_again(stack: &Stack, row: &mut Row) -> Result<()> {
    let back = Instant::now();
    for replica in &stack.replicas {
        while get(&stack.http, &product(&replica.url(), PRODUCT))
            .await
            .status
            != 200
        {
            ensure!(
                back.elapsed() < Duration::from_secs(30),
                "{} stays broken",
                replica.name()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    row.within(
        "200 at each replica, once it is back",
        Duration::ZERO,
        Duration::from_secs(2),
        back.elapsed(),
    );
    Ok(())
}

const fn failed_open(status: &Status) -> u64 {
    status.limiter.failed_open
}
