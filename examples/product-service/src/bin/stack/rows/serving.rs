//! Cases of replicas that have much to do, are stopped, or die under load.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::product;
use crate::load::{Answers, burst, get, steady};
use crate::stack::Stack;
use crate::verdict::Row;

/// Two thousand readers of one product wait for one read, at one replica, and it still answers others.
pub async fn waiting(stack: &mut Stack, row: &mut Row) -> Result<()> {
    const REQUESTS: usize = 2_000;
    stack.faults(6_000, false).await?;
    let replica = stack.replicas[0].url();
    let mut load = JoinSet::new();
    // In waves: each connection has its place before the next ones come.
    for waiting in [500.0, 1_000.0, 1_500.0, 2_000.0] {
        let (http, url) = (stack.http.clone(), product(&replica, 1));
        load.spawn(async move { burst(&http, &url, REQUESTS / 4).await });
        stack.calls_in_progress(waiting).await?;
    }
    let mut worst = Duration::ZERO;
    for _ in 0..20 {
        let answer = get(&stack.http, &format!("{replica}/healthz")).await;
        anyhow::ensure!(answer.status == 200, "/healthz got {}", answer.status);
        worst = worst.max(answer.took);
    }
    row.holds(
        "all of them wait meanwhile",
        load.try_join_next().is_none(),
        "2000",
    );
    row.within(
        "`/healthz`, longest of 20",
        Duration::ZERO,
        Duration::from_millis(50),
        worst,
    );
    let answers = load.join_all().await.into_iter().flat_map(|wave| wave.0);
    let answers = Answers(answers.collect());
    row.holds(
        "2000 × 200",
        answers.with(200) == REQUESTS,
        answers.statuses(),
    );
    Ok(())
}

/// A steady load of ten products at the front, for three seconds.
fn load(stack: &Stack) -> JoinHandle<Answers> {
    let (http, front) = (stack.http.clone(), stack.nginx.url());
    tokio::spawn(async move {
        let url = |number: usize| product(&front, 1 + number as u64 % 10);
        steady(&http, url, 200, Duration::from_secs(3)).await
    })
}

pub async fn drained(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(20, false).await?;
    let load = load(stack);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    let status = stack.replicas[0].drain().await.context("it does not end")?;
    row.holds(
        "ends well",
        status.success(),
        format!("{status}, after {} ms", began.elapsed().as_millis()),
    );
    stack.replicas[0].restart().await?;
    judge(row, &load.await?);
    Ok(())
}

pub async fn killed(stack: &mut Stack, row: &mut Row) -> Result<()> {
    stack.faults(20, false).await?;
    let load = load(stack);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stack.replicas[1].kill();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stack.replicas[1].restart().await?;
    judge(row, &load.await?);
    Ok(())
}

fn judge(row: &mut Row, answers: &Answers) {
    let errors = answers.0.len() - answers.with(200);
    row.count("requests", 600, answers.0.len());
    row.holds("0 errors at the client", errors == 0, answers.statuses());
}
