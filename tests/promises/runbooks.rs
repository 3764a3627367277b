//! The pages for the person on call: each alarm has a runbook, and what a page names is there.

use std::collections::BTreeSet;

use coalesce::observing::{BypassReason, CallOutcome, Cause, Ending, Operation};
use coalesce::{Coalescer, Fault};
use serde_json::Value;

use crate::named::rows;
use crate::page;

const PAGES: [&str; 2] = ["docs/runbooks.md", "docs/clocks.md"];

/// What each runbook says, in this order.
const PARTS: [&str; 6] = [
    "- **Alarm:** ",
    "- **Means:** ",
    "- **Callers feel:** ",
    "- **Look at:**",
    "- **Do:** ",
    "- **Over when:** ",
];

/// What stands between backticks, of code blocks nothing.
fn quoted(page: &str) -> Vec<String> {
    let text: String = page.split("```").step_by(2).collect();
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// The alarm lines of all runbooks.
fn alarms() -> String {
    let page = page(PAGES[0]);
    let mut all = String::new();
    for runbook in page.split("\n## ").skip(1) {
        let title = runbook.lines().next().unwrap();
        let places: Vec<_> = PARTS.iter().map(|part| runbook.find(part)).collect();
        assert!(places.iter().all(Option::is_some), "{title}: {places:?}");
        assert!(places.is_sorted(), "{title}: {places:?}");
        all.push_str(&runbook[places[0].unwrap()..places[1].unwrap()]);
    }
    all
}

#[test]
fn every_alarm_of_the_operators_page_has_a_runbook() {
    let operating = page("docs/operating.md");
    let table = operating.split("## Alarms").nth(1).unwrap();
    let (known, rows) = (quoted(&alarms()), rows(table, 3));
    assert!(rows.len() >= 16, "only {} alarms", rows.len());
    for row in rows {
        let alarm = quoted(&row[0]).remove(0);
        assert!(known.contains(&alarm), "no runbook for {alarm}");
    }
}

/// Those that count how well it goes, and those that measure, are no alarms.
#[test]
fn every_metric_that_counts_trouble_has_a_runbook() {
    let (alarms, metrics) = (alarms(), page("docs/metrics.md"));
    let fine = [
        "calls_in_progress",
        "double_check_hits",
        "executions_ended",
        "executions_in_progress",
        "flights",
        "waiters",
        "subscriptions",
    ];
    let mut counted = 0;
    for row in rows(&metrics, 5).iter().filter(|row| row[1] != "histogram") {
        let name = row[0].trim_matches('`');
        let short = name
            .trim_start_matches("coalesce_")
            .trim_end_matches("_total");
        if !fine.contains(&short) {
            assert!(alarms.contains(name), "no runbook for {name}");
            counted += 1;
        }
    }
    assert!(counted >= 10, "only {counted}");
}

#[test]
fn every_metric_that_a_page_names_exists_and_so_does_each_word_of_a_label() {
    let metrics = rows(&page("docs/metrics.md"), 5);
    for text in PAGES.iter().flat_map(|name| quoted(&page(name))) {
        for part in text.split("coalesce_").skip(1) {
            let name = part.split(|it: char| !it.is_ascii_lowercase() && it != '_');
            let name = format!("`coalesce_{}`", name.into_iter().next().unwrap());
            let row = metrics.iter().find(|row| row[0] == name);
            let row = row.unwrap_or_else(|| panic!("no metric {name} in {text}"));
            if let Some((label, word)) = part.split_once('{').and_then(|it| it.1.split_once("=\""))
            {
                let word = word.split('"').next().unwrap();
                assert_eq!(format!("`{label}`"), row[3], "{text}");
                assert!(words_of(label).contains(word), "{text}");
            }
        }
    }
}

fn words_of(label: &str) -> BTreeSet<&'static str> {
    match label {
        "outcome" => CallOutcome::ALL.iter().map(|it| it.label()).collect(),
        "reason" => BypassReason::ALL.iter().map(|it| it.label()).collect(),
        "cause" => Cause::ALL.iter().map(|it| it.label()).collect(),
        "ending" => Ending::ALL.iter().map(|it| it.label()).collect(),
        "operation" => Operation::ALL.iter().map(|it| it.label()).collect(),
        _ => BTreeSet::new(),
    }
}

/// `namespaces.N.outcomes.timed_out` and the like, in the snapshot as JSON.
#[tokio::test]
async fn every_field_of_the_snapshot_that_a_page_names_exists() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    coalescer.call("N").run(|| async { 1 }).await;
    let snapshot = serde_json::to_value(coalescer.snapshot()).unwrap();
    let mut named = 0;
    for field in PAGES.iter().flat_map(|name| quoted(&page(name))) {
        let root = field.split('.').next().unwrap();
        if ["namespaces", "gauges", "process"].contains(&root) && field.contains('.') {
            let found = field
                .split('.')
                .try_fold(&snapshot, |at: &Value, name| at.get(name));
            assert!(found.is_some(), "no field {field}");
            named += 1;
        }
    }
    assert!(named >= 40, "only {named}");
}

/// The table of kinds, the reasons of bypassed calls, and lines of the log in their own words.
#[test]
fn the_runbooks_name_every_kind_of_fault_and_every_reason_to_bypass() {
    let page = page(PAGES[0]);
    for fault in Fault::ALL {
        assert!(
            page.contains(&format!("| `{}` |", fault.label())),
            "{fault}"
        );
    }
    let known = quoted(&page);
    for reason in BypassReason::ALL {
        assert!(known.iter().any(|it| it == reason.label()), "{reason:?}");
    }
    let line = "the lease of a running flight was lost";
    assert!(page.contains(line) && crate::page("docs/operating.md").contains(line));
}
