//! Any of the faults, by chance and one upon another: the example `chaos` shows the same, for as long as one likes.

use std::time::Duration;

use coalesce_rig::chaos::{Layout, Plan, run};
use coalesce_rig::{Totals, note_recovery, note_runs, note_totals, now_micros};

use crate::scene::POD;

fn play(layout: Layout, seconds: u64) {
    let given = std::env::var("RIG_SEED").ok();
    let seed = given.and_then(|seed| seed.parse().ok());
    let plan = Plan {
        layout,
        pods: 8,
        lasts: Duration::from_secs(seconds),
        seed: seed.unwrap_or_else(|| now_micros() % 1_000_000),
        rest: Duration::from_millis(1_200),
        program: POD.to_owned(),
        environment: Vec::new(),
    };
    // Said before: whoever waits in vain still knows it.
    println!("RIG_SEED={}", plan.seed);
    let report = run(&plan, |_| ());
    println!("{report:?}");
    note_totals(&Totals::of_chaos(&report));
    let flights = report.executions - report.bypassed_runs;
    note_runs(flights, report.strict_runs, &report.explained_by);
    note_recovery(Duration::from_millis(report.recovered_ms));
    assert_eq!(report.broken(), Vec::<String>::new(), "{report:#?}");
}

/// Row 52.
#[test]
fn whatever_happens_to_pods_server_and_way_every_call_is_answered_and_no_run_is_without_a_reason() {
    play(Layout::Standalone, 25);
}

/// Row 52.
#[test]
#[ignore = "by hand, on a machine that has nothing else to do: CONTRIBUTING.md"]
fn whatever_happens_to_a_cluster_every_call_is_answered_and_no_run_is_without_a_reason() {
    play(Layout::Cluster, 25);
}

/// Row 52.
#[test]
#[ignore = "by hand, on a machine that has nothing else to do: CONTRIBUTING.md"]
fn whatever_happens_to_a_primary_under_sentinels_every_call_is_answered() {
    play(Layout::Sentinel, 25);
}
