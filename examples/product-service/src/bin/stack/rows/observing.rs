//! The case of Prometheus: it reaches the replicas, and whatever dashboards and alarms ask for is there.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::time::Instant;

use super::product;
use crate::files;
use crate::load::burst;
use crate::process::{Program, need};
use crate::servers::Alarm;
use crate::stack::Stack;
use crate::verdict::Row;

/// How long Prometheus has to look at everything, and to run each rule once.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn metrics(stack: &mut Stack, row: &mut Row) -> Result<()> {
    promtool(stack, row)?;
    // It takes five seconds until Prometheus has read where they are.
    let reached = settled(stack, Instant::now() + PATIENCE, "up == 1", 3).await?;
    row.count("replicas that it reaches", 3, reached);
    traffic(stack).await?;
    let until = Instant::now() + PATIENCE;

    let alarms = alarms(stack, until).await?;
    let healthy = alarms.iter().filter(|alarm| alarm.health == "ok").count();
    let files = [files::COALESCE_ALERTS, files::PRODUCT_ALERTS];
    let expected = files.map(|file| file.matches("- alert:").count() as u64);
    row.count("alarms, their queries run", expected.iter().sum(), healthy);
    let looked_at = alarms
        .into_iter()
        .map(|alarm| (alarm.name, without_threshold(&alarm.query)));
    numbers(
        stack,
        until,
        row,
        "each alarm looks at something",
        looked_at.collect(),
    )
    .await?;
    for dashboard in [files::PRODUCT_DASHBOARD, files::COALESCE_DASHBOARD] {
        let dashboard: Value = serde_json::from_str(dashboard)?;
        let queries = queries(&dashboard)?;
        let title = dashboard["title"].as_str().unwrap_or_default();
        let what = format!("{} queries of {title:?} have numbers", queries.len());
        numbers(stack, until, row, &what, queries).await?;
    }
    Ok(())
}

/// Judges whether each of these queries, of which each has a name, has a number.
async fn numbers(
    stack: &Stack,
    until: Instant,
    row: &mut Row,
    what: &str,
    queries: Vec<(String, String)>,
) -> Result<()> {
    ensure!(!queries.is_empty(), "there are no queries");
    let mut empty = Vec::new();
    for (name, query) in queries {
        if settled(stack, until, &query, 1).await? == 0 {
            empty.push(name);
        }
    }
    let measured = if empty.is_empty() {
        "all".to_owned()
    } else {
        format!("none: {}", empty.join(", "))
    };
    row.holds(what, empty.is_empty(), measured);
    Ok(())
}

/// What the server was started with, looked at by its own tool; and what each alarm does.
fn promtool(stack: &Stack, row: &mut Row) -> Result<()> {
    let folder = stack.prometheus.folder();
    std::fs::write(folder.join("rules_test.yml"), files::PRODUCT_ALERTS_TEST)?;
    std::fs::write(folder.join("alerts_test.yml"), files::COALESCE_ALERTS_TEST)?;
    std::fs::copy(folder.join("rules/coalesce.yml"), folder.join("alerts.yml"))?;
    let promtool = need("promtool")?;
    for (figure, words) in [
        (
            "promtool check config",
            ["check", "config", "prometheus.yml"],
        ),
        (
            "promtool test rules, the service's",
            ["test", "rules", "rules_test.yml"],
        ),
        (
            "promtool test rules, coalescing's",
            ["test", "rules", "alerts_test.yml"],
        ),
    ] {
        let ran = Program::new("promtool", &promtool)
            .arguments(words)
            .within(folder)
            .run();
        row.holds(
            figure,
            ran.is_ok(),
            ran.map_or_else(|why| why.to_string(), |_| "success".to_owned()),
        );
    }
    Ok(())
}

/// Something of everything: hits, misses, followers, failures, rejected ones. Each twice with a look of
/// Prometheus between, since a rate is a difference.
async fn traffic(stack: &Stack) -> Result<()> {
    let front = stack.nginx.url();
    for (delay, fails, limit) in [
        (20, true, 0),
        (50, false, 100),
        (20, true, 0),
        (50, false, 100),
    ] {
        stack.redis.forget().await?;
        stack.faults(delay, fails).await?;
        stack.limit(limit, 10_000).await?;
        for id in 1..=3 {
            burst(&stack.http, &product(&front, id), 60).await;
            burst(&stack.http, &product(&front, id), 60).await;
        }
        tokio::time::sleep(Duration::from_millis(1_200)).await;
    }
    Ok(())
}

/// The alarms, once the query of each has been run.
async fn alarms(stack: &Stack, until: Instant) -> Result<Vec<Alarm>> {
    loop {
        let alarms = stack.prometheus.alarms().await?;
        if alarms.iter().all(|alarm| alarm.health != "unknown") || Instant::now() > until {
            return Ok(alarms);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// How many numbers a query has. It is asked again while they are too few, because Prometheus looks only
/// once in a while.
async fn settled(stack: &Stack, until: Instant, query: &str, enough: usize) -> Result<usize> {
    loop {
        let numbers = stack.prometheus.query(query).await?.len();
        if numbers >= enough || Instant::now() > until {
            return Ok(numbers);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

/// The queries of a dashboard with its variables filled in, each with its panel's title.
fn queries(dashboard: &Value) -> Result<Vec<(String, String)>> {
    let panels = dashboard["panels"]
        .as_array()
        .context("a dashboard without panels")?;
    let mut queries = Vec::new();
    for panel in panels {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"]
                .as_str()
                .context("a target without a query")?;
            let query = query
                .replace("$__rate_interval", "1m")
                .replace("$namespace", ".*");
            queries.push((
                panel["title"].as_str().unwrap_or_default().to_owned(),
                query,
            ));
        }
    }
    Ok(queries)
}

/// What an alarm compares, without what it compares it with: there while all is well, too.
fn without_threshold(query: &str) -> String {
    let of = |side: &str| {
        side.rsplit_once([' '])
            .map_or(side.to_owned(), |(left, _)| left.to_owned())
    };
    let compared = query.split(" and ").map(of);
    let sides: Vec<_> = compared
        .map(|side| side.trim_end_matches([' ', '=', '<', '>', '!']).to_owned())
        .collect();
    sides.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_without_its_threshold_is_what_it_looks_at() {
        assert_eq!(
            without_threshold("sum(rate(a[5m])) > 0"),
            "sum(rate(a[5m]))"
        );
        assert_eq!(without_threshold("a == 0 and b == 1"), "a and b");
    }
}
