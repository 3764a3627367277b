//! The metrics facade says what the snapshot says: the same numbers, under the names that the page lists.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod recorder;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coalesce_runtime::{Clocks, Coalescer, MemoryCoordinator, Policy, Position, Scope};
use serde_json::Value;

use self::recorder::scrape;

const MS: Duration = Duration::from_millis(1);

/// Calls that end in each way that one process can see, and one that fails, in `namespace`.
async fn load(namespace: &'static str) -> Coalescer {
    scrape();
    let shared = Arc::new(MemoryCoordinator::new());
    let build = || Coalescer::builder().coordinator(shared.clone()).metrics();
    let pod = build().build().await.unwrap();
    let clocks = |fresh, wait| Clocks::new(fresh, Some(20 * fresh), 900 * MS, Some(wait)).unwrap();
    let keeping = Arc::new(Policy::new(clocks(50 * MS, 1_000 * MS)));
    let call = |key: u64, policy: &Arc<Policy>, body: Duration| {
        let policy = Arc::clone(policy);
        pod.call(namespace)
            .key(key)
            .policy(policy)
            .run(move || async move {
                tokio::time::sleep(body).await;
                "x".repeat(100)
            })
    };
    // Led and followed, fresh, stale with a refresh behind it.
    tokio::join!(call(1, &keeping, 10 * MS), call(1, &keeping, 10 * MS));
    call(1, &keeping, MS).await;
    tokio::time::sleep(60 * MS).await;
    call(1, &keeping, MS).await;
    tokio::time::sleep(10 * MS).await;
    // Dropped.
    drop(tokio::time::timeout(5 * MS, call(2, &keeping, 100 * MS)).await);
    tokio::time::sleep(200 * MS).await;
    // Too large to be stored, and then what is stored there cannot be read as a number.
    let small = Arc::new(Policy::new(clocks(50 * MS, 1_000 * MS)).max_payload(10));
    call(3, &small, MS).await;
    let number = pod.call(namespace).key(1).policy(Arc::clone(&keeping));
    number.run(|| async { 1_u8 }).await;
    // Bypassed.
    let scope = Scope::Namespace(namespace.into());
    let turned = pod.switch(&scope, &Position::off()).await.unwrap();
    assert!(turned.known);
    call(4, &keeping, MS).await;
    pod.clear_switch(&scope).await.unwrap();
    pod
}

/// What follows `name` in the exposition: the second label's value, or nothing, and the number.
fn series(text: &str, name: &str, namespace: &str) -> BTreeMap<String, u64> {
    let begin = format!(r#"{name}{{namespace="{namespace}""#);
    let lines = text.lines().filter_map(|line| line.strip_prefix(&begin));
    lines
        .map(|line| {
            let (label, number) = line.split_once("} ").unwrap();
            let word = label.split('"').nth(1).unwrap_or_default();
            (word.to_owned(), number.parse().unwrap())
        })
        .collect()
}

fn numbers(value: &Value) -> BTreeMap<String, u64> {
    let fields = value.as_object().unwrap().iter();
    fields
        .map(|(name, number)| (name.clone(), number.as_u64().unwrap()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_exporter_says_what_the_snapshot_says() {
    let pod = load("metrics::same").await;
    let page = pod.snapshot_of("metrics::same").unwrap();
    assert!(page.outcomes.fresh > 0 && page.outcomes.stale > 0 && page.outcomes.followed > 0);
    assert!(
        page.outcomes.cancelled > 0 && page.outcomes.bypassed > 0,
        "{page:?}"
    );
    assert!(page.incidents.too_large > 0 && page.incidents.undecodable > 0);
    let (text, json) = (scrape().render(), serde_json::to_value(&page).unwrap());
    let of = |name: &str| series(&text, name, "metrics::same");
    for (name, field) in [
        ("coalesce_calls_total", "outcomes"),
        ("coalesce_bypassed_total", "bypassed"),
        ("coalesce_executions_total", "executions"),
        ("coalesce_executions_ended_total", "endings"),
        ("coalesce_faults_total", "faults"),
    ] {
        assert_eq!(of(name), numbers(&json[field]), "{name}");
    }
    for (incident, number) in numbers(&json["incidents"]) {
        let name = format!("coalesce_{incident}_total");
        assert_eq!(of(&name)[""], number, "{name}");
    }
    assert_eq!(
        of("coalesce_round_trip_seconds_count"),
        numbers(&json["round_trips"])
    );
    for (name, count) in [
        ("hit_seconds", page.hit_seconds.count),
        ("wait_seconds", page.wait_seconds.count),
        ("execution_seconds", page.execution_seconds.count),
        ("payload_bytes", page.payload_bytes.count),
        ("calls_in_progress", 0),
        ("executions_in_progress", 0),
    ] {
        let suffix = if name.ends_with("progress") {
            ""
        } else {
            "_count"
        };
        assert_eq!(of(&format!("coalesce_{name}{suffix}"))[""], count, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_metric_is_described_and_its_labels_are_words_of_ours() {
    let _pod = load("metrics::described").await;
    let text = with_gauges_at_rest().await;
    let mut described = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("# HELP ")) {
        described.insert(line.split(' ').nth(2).unwrap());
    }
    for line in text.lines().filter(|line| line.starts_with("coalesce_")) {
        let (name, labels) = line.split_once('{').unwrap_or((line, ""));
        let name = name.split(' ').next().unwrap();
        let base = ["_count", "_sum"]
            .iter()
            .find_map(|end| name.strip_suffix(end));
        assert!(described.contains(base.unwrap_or(name)), "{line}");
        for label in labels.split(',').filter_map(|label| label.split_once('=')) {
            let ours = [
                "namespace",
                "outcome",
                "reason",
                "cause",
                "ending",
                "kind",
                "operation",
            ];
            assert!(ours.contains(&label.0) || label.0 == "quantile", "{line}");
        }
    }
}

/// Gauges are looked at once a second, also while the other test of this process has calls in progress.
async fn with_gauges_at_rest() -> String {
    let gauges = [
        "flights 0",
        "waiters 0",
        "connected 1",
        "subscribed 1",
        "breaker_state 0",
    ];
    let shown = |text: &str, gauge| text.contains(&format!("\ncoalesce_{gauge}\n"));
    for _ in 0..200 {
        let text = scrape().render();
        if gauges.iter().all(|gauge| shown(&text, gauge)) {
            return text;
        }
        tokio::time::sleep(100 * MS).await;
    }
    panic!("not at rest: {}", scrape().render());
}
