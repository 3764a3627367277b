//! The case of Prometheus: it reaches the replicas, and whatever dashboards and alarms ask for is there.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::product;
use crate::files;
use crate::load::burst;
use crate::process::{Program, need};
use crate::stack::Stack;
use crate::verdict::Row;

pub async fn metrics(stack: &mut Stack, row: &mut Row) -> Result<()> {
    promtool(stack, row)?;
    traffic(stack).await?;
    row.count(
        "replicas that it reaches",
        3,
        settled(stack, "up == 1", 3).await?,
    );

    let (ours, products) = (
        alerts(files::COALESCE_ALERTS),
        alerts(files::PRODUCT_ALERTS),
    );
    let alarms = alarms(stack).await?;
    let healthy = alarms
        .iter()
        .filter(|(_, _, health)| health == "ok")
        .count();
    row.count("alarms, their queries run", ours + products, healthy);
    for (name, query, _) in &alarms {
        asked(stack, row, name, &without_threshold(query)).await?;
    }
    for dashboard in [files::PRODUCT_DASHBOARD, files::COALESCE_DASHBOARD] {
        let dashboard: Value = serde_json::from_str(dashboard)?;
        let mut empty = Vec::new();
        let queries = queries(&dashboard)?;
        for (title, query) in &queries {
            if settled(stack, query, 1).await? == 0 {
                empty.push(title.as_str());
            }
        }
        let title = dashboard["title"].as_str().unwrap_or_default();
        row.at_least(
            &format!("queries of the dashboard {title:?}"),
            10,
            queries.len() as u64,
        );
        row.holds(
            "each has numbers",
            empty.is_empty(),
            format!("empty: {empty:?}"),
        );
    }
    Ok(())
}

/// What the server was started with, looked at by its own tool; and what the alarms of coalescing do.
fn promtool(stack: &Stack, row: &mut Row) -> Result<()> {
    let folder = stack.prometheus.folder();
    std::fs::write(folder.join("alerts_test.yml"), files::COALESCE_ALERTS_TEST)?;
    std::fs::copy(folder.join("rules/coalesce.yml"), folder.join("alerts.yml"))?;
    let promtool = need("promtool")?;
    for (figure, words) in [
        (
            "promtool check config",
            ["check", "config", "prometheus.yml"],
        ),
        ("promtool test rules", ["test", "rules", "alerts_test.yml"]),
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

/// Something of everything: hits, misses, followers, rejected ones; between two looks of Prometheus.
async fn traffic(stack: &Stack) -> Result<()> {
    let front = stack.nginx.url();
    for (delay, limit) in [(20, 0), (50, 40), (20, 0)] {
        stack.redis.forget().await?;
        stack.faults(delay, false).await?;
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
async fn alarms(stack: &Stack) -> Result<Vec<(String, String, String)>> {
    for _ in 0..20 {
        let alarms = stack.prometheus.alarms().await?;
        if alarms.iter().all(|(_, _, health)| health != "unknown") {
            return Ok(alarms);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    stack.prometheus.alarms().await
}

async fn asked(stack: &Stack, row: &mut Row, name: &str, query: &str) -> Result<()> {
    if settled(stack, query, 1).await? == 0 {
        row.holds(&format!("{name} looks at something"), false, query);
    }
    Ok(())
}

/// How many numbers a query has. It is asked again while they are too few, because Prometheus looks only
/// once in a while.
async fn settled(stack: &Stack, query: &str, enough: usize) -> Result<usize> {
    for _ in 0..20 {
        let numbers = stack.prometheus.query(query).await?.len();
        if numbers >= enough {
            return Ok(numbers);
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    Ok(stack.prometheus.query(query).await?.len())
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

fn alerts(rules: &str) -> u64 {
    rules.matches("- alert:").count() as u64
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
