//! M65: what a program takes along with the library.

use std::collections::BTreeSet;
use std::process::Command;

/// The packages of a normal build with some features, the library's own included.
fn packages(features: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "-p",
            "coalesce-rs",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--no-dedupe",
        ])
        .args(["--offline", "--locked", "--features", features])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs tests, so it is there");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let names = String::from_utf8(output.stdout).expect("names of packages are ASCII");
    names
        .lines()
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn m65_the_default_build_is_light_and_features_only_add() {
    let light = packages("");
    // Whoever makes it more says here what for, and whether it could be behind a feature.
    assert!(light.len() <= 113, "{} packages: {light:?}", light.len());
    for heavy in [
        "rustls",
        "openssl",
        "serde_json",
        "chrono",
        "uuid",
        "postcard",
        "regex",
    ] {
        assert!(!light.contains(heavy), "{heavy} is in the default build");
    }
    for (features, package) in [
        ("tls", "rustls"),
        ("json", "serde_json"),
        ("postcard", "postcard"),
        ("uuid", "uuid"),
        ("chrono", "chrono"),
        ("time", "time"),
        ("rust_decimal", "rust_decimal"),
        ("url,bytes", "url"),
    ] {
        let more = packages(features);
        assert!(
            more.contains(package),
            "{features} does not bring {package}"
        );
        assert!(more.is_superset(&light), "{features} takes something away");
    }
}
