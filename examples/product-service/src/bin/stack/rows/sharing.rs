//! Cases of one product that many ask for at once.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::Client;
use serde_json::Value;

use super::product;
use crate::load::{Answers, burst, get, steady};
use crate::stack::Stack;
use crate::verdict::Row;

const PRODUCT: u64 = 1;
const MISSING: u64 = 999_999;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// What a load got, and how often the database was read for it: as it says itself, and as the replicas do.
struct Seen {
    answers: Answers,
    database: u64,
    begun: u64,
}

async fn seen(stack: &Stack, load: impl Future<Output = Answers>) -> Result<Seen> {
    let (database, begun) = (stack.postgres.reads().await?, stack.reads_begun().await?);
    let answers = load.await;
    Ok(Seen {
        answers,
        database: stack.postgres.reads().await? - database,
        begun: stack.reads_begun().await? - begun,
    })
}

impl Seen {
    fn judge(&self, row: &mut Row, status: u16, requests: u64, reads: u64) {
        row.holds(
            &format!("{requests} × {status}"),
            self.answers.with(status) as u64 == requests,
            self.answers.statuses(),
        );
        row.count("another product's", 0, self.answers.of_others(PRODUCT));
        row.count("database reads, by its own count", reads, self.database);
        row.count("database reads, by the replicas'", reads, self.begun);
    }
}

/// So many requests at once to the front, over connections that are open.
async fn at_once(stack: &Stack, id: u64, requests: usize) -> Answers {
    let front = stack.nginx.url();
    burst(&stack.http, &format!("{front}/healthz"), requests).await;
    burst(&stack.http, &product(&front, id), requests).await
}

pub async fn cold(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(100, false).await?;
    stack.redis.forget_counts().await?;
    let seen = seen(stack, at_once(stack, PRODUCT, 300)).await?;
    let commands = stack.redis.commands().await?;
    seen.judge(row, 200, 300, 1);
    row.at_most("Redis commands", 900, commands.values().sum());
    row.within("p99", ms(100), ms(150), seen.answers.p99());
    Ok(())
}

pub async fn missing(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(100, false).await?;
    let seen = seen(stack, at_once(stack, MISSING, 300)).await?;
    seen.judge(row, 404, 300, 1);
    row.within("p99", ms(100), ms(150), seen.answers.p99());
    Ok(())
}

pub async fn slow(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(800, false).await?;
    let seen = seen(stack, at_once(stack, PRODUCT, 300)).await?;
    seen.judge(row, 200, 300, 1);
    row.within("longest", ms(800), ms(200), seen.answers.longest());
    Ok(())
}

pub async fn slower(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(6_000, false).await?;
    let seen = seen(stack, at_once(stack, PRODUCT, 60)).await?;
    seen.judge(row, 200, 60, 1);
    row.within("longest", ms(6_000), ms(500), seen.answers.longest());
    Ok(())
}

pub async fn warm(stack: &mut Stack, row: &mut Row) -> Result<()> {
    get(&stack.http, &product(&stack.nginx.url(), PRODUCT)).await;
    let hits = stack.sum(|status| status.hits).await?;
    let seen = seen(stack, at_once(stack, PRODUCT, 300)).await?;
    seen.judge(row, 200, 300, 0);
    let hits = stack.sum(|status| status.hits).await? - hits;
    row.count("hits", 300, hits);
    row.within("p99", ms(0), ms(250), seen.answers.p99());
    Ok(())
}

pub async fn thousand(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(20, false).await?;
    let url = product(&stack.nginx.url(), PRODUCT);
    let load = steady(&stack.http, |_| url.clone(), 1_000, Duration::from_secs(1));
    let seen = seen(stack, load).await?;
    seen.judge(row, 200, 1_000, 1);
    row.within("p99", ms(20), ms(230), seen.answers.p99());
    Ok(())
}

/// One replica reads, another writes, and every reader that comes after the write sees it.
pub async fn update(stack: &mut Stack, row: &mut Row) -> Result<()> {
    let urls: Vec<_> = stack
        .replicas
        .iter()
        .map(|replica| product(&replica.url(), PRODUCT))
        .collect();
    let before = get(&stack.http, &urls[0]).await.body;
    let old = before["stocks"]
        .as_i64()
        .context("a product without stocks")?;
    let stocks = old + 1;
    stack.redis.forget().await?;
    // As long as the write may take, and the read behind it, on a machine that is busy with other things.
    stack.replicas[0].faults(2_000, false).await?;

    let reads = stack.postgres.reads().await?;
    let flight = tokio::spawn({
        let (http, url) = (stack.http.clone(), urls[0].clone());
        async move { get(&http, &url).await }
    });
    // The delay is behind the read: from here on the old row is on its way.
    stack.postgres.reads_exceed(reads).await?;
    put(&stack.http, &urls[1], before, stocks).await?;
    row.holds(
        "the read was still in flight",
        !flight.is_finished(),
        "at the answer to the PUT",
    );
    row.count(
        "new stocks, read at another replica",
        stocks.cast_unsigned(),
        read(stack, &urls[2]).await,
    );
    let read_before = flight.await?.body["stocks"].as_u64();
    row.count(
        "stocks of that flight: the old ones",
        old.cast_unsigned(),
        read_before.unwrap_or(u64::MAX),
    );
    for url in &urls {
        row.count(
            "new stocks, after that flight",
            stocks.cast_unsigned(),
            read(stack, url).await,
        );
    }
    Ok(())
}

async fn read(stack: &Stack, url: &str) -> u64 {
    get(&stack.http, url).await.body["stocks"]
        .as_u64()
        .unwrap_or_default()
}

/// The product as it was, with other stocks.
async fn put(http: &Client, url: &str, mut product: Value, stocks: i64) -> Result<()> {
    product["stocks"] = stocks.into();
    // Where it is written says which it is.
    product
        .as_object_mut()
        .and_then(|product| product.remove("id"));
    let answer = http.put(url).json(&product).send().await?;
    let status = answer.status();
    ensure!(
        status.is_success(),
        "the PUT got {status}: {}",
        answer.text().await?
    );
    Ok(())
}
