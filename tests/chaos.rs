//! The chaos, for a few seconds: it ends as it should, and says all that it promises to say.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has seen"
)]

use std::path::PathBuf;
use std::process::{Command, Output};

use coalesce_rig::{Totals, note_totals};
use serde_json::Value;

/// What must be nothing, whatever happened.
const ZEROS: [&str; 12] = [
    "unexplained_runs",
    "lost_calls",
    "errors",
    "wrong_values",
    "stale_reads",
    "passed_over",
    "overlong_calls",
    "leaked_entries",
    "leaked_keys",
    "leaked_subscriptions",
    "leaked_tasks",
    "leaked_connections",
];

/// What else is said.
const FIGURES: [&str; 6] = [
    "calls",
    "executions",
    "explained_runs",
    "max_added_ms",
    "takeover_p50_ms",
    "takeover_max_ms",
];

#[test]
fn a_chaos_of_seconds_on_one_server_breaks_no_promise_and_says_all_figures() {
    plays("standalone", 7);
}

#[test]
fn a_chaos_of_seconds_on_a_cluster_breaks_no_promise_and_says_all_figures() {
    plays("cluster", 7);
}

/// Few processes, and time between two faults. Where the machine is so busy all the same that a chaos proves nothing,
/// another is played, twice at most.
fn plays(topology: &str, seed: u64) {
    let mut output = play(topology, seed);
    for _ in 0..2 {
        if proves_nothing(&output) {
            output = play(topology, seed);
        }
    }
    let complaints = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    println!("{report}");
    assert_eq!(output.status.code(), Some(0), "{complaints}");
    let number = |name: &str| {
        let number = report[name].as_u64();
        number.unwrap_or_else(|| panic!("{name} is missing in {report}"))
    };
    for name in ZEROS {
        assert_eq!(number(name), 0, "{name}: {complaints}");
    }
    let figures = FIGURES.map(number);
    assert_eq!(
        (&report["topology"], number("seed")),
        (&topology.into(), seed)
    );
    let faults = report["faults"].as_object().unwrap().values();
    let faults = faults.map(|count| count.as_u64().unwrap()).sum();
    let [calls, executions, ..] = figures;
    assert!(faults > 0 && calls > 0 && executions > 0, "{report}");
    note_totals(&Totals {
        faults,
        calls,
        ..Totals::default()
    });
}

#[test]
fn what_no_chaos_can_be_is_refused_in_a_sentence() {
    for (arguments, sentence) in [
        (["--minutes", "0"], "a number from 0.1 to 1440"),
        (["--pods", "1"], "1 is not in 2..=100"),
        (
            ["--topology", "ring"],
            "[possible values: standalone, cluster, sentinel]",
        ),
    ] {
        let output = Command::new(binary()).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(sentence), "{said}");
    }
}

fn play(topology: &str, seed: u64) -> Output {
    let line =
        format!("--minutes 0.1 --pods 3 --rest-ms 900 --json --topology {topology} --seed {seed}");
    let mut chaos = Command::new(binary());
    chaos.args(line.split(' ')).output().unwrap()
}

/// Whether all that is complained of is that too little of it was calm.
fn proves_nothing(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    let mut broken = said
        .lines()
        .filter_map(|line| line.strip_prefix("Broken promise: "));
    let is_busy =
        |what: &str| what.ends_with("a busy machine alone") || what.ends_with("without an excuse");
    !output.status.success() && broken.clone().count() > 0 && broken.all(is_busy)
}

/// Cargo builds the examples with the tests, and puts them beside.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let binary = profile.join("examples").join("chaos");
    let binary = binary.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        binary.exists(),
        "{} is not there: `cargo test` builds it, `cargo test --test chaos` alone does not",
        binary.display()
    );
    binary
}
