//! What the library and its tests are built from: licences that `deny.toml` allows, from a registry.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::page;

/// The packages that were built here, as Cargo knows them.
fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    // Those of other platforms were never fetched, and nothing is fetched here.
    let told = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--offline",
            "--all-features",
        ])
        .args(["--filter-platform", host.unwrap()])
        .output()
        .unwrap();
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    let mut told: Value = serde_json::from_slice(&told.stdout).unwrap();
    serde_json::from_value(told["packages"].take()).unwrap()
}

#[test]
fn every_package_comes_from_a_registry_with_a_licence_that_is_allowed() {
    let rules: toml::Table = page("deny.toml").parse().unwrap();
    let allowed = rules["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<_> = allowed.iter().filter_map(toml::Value::as_str).collect();
    let packages = packages();
    assert!(packages.len() > 100, "only {} packages", packages.len());

    let mut foreign = Vec::new();
    for package in &packages {
        let licence = package["license"].as_str().unwrap_or_default();
        let fits = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|licence| {
            licence.evaluate(|asked| {
                let id = asked.license.id().map(|id| id.name);
                id.is_some_and(|id| allowed.contains(id)) && asked.addition.is_none()
            })
        });
        let known = match package["source"].as_str() {
            Some(source) => source.starts_with("registry+"), // and no repository of somebody
            None => true,                                    // one of ours
        };
        if !fits || !known {
            foreign.push(format!(
                "{}: {licence}, {}",
                package["name"], package["source"]
            ));
        }
    }
    assert_eq!(foreign, Vec::<String>::new());
}
