#!/usr/bin/env bash
# Which small mistakes in decisions, formats, keys and script glue no test notices.
#
#     bash tests/mutants.sh                               # every file of tests/MUTANTS.md, more than an hour
#     bash tests/mutants.sh words/key.rs 'engine/*.rs'    # some of them; paths are below coalesce-runtime/src
#
# A mutant of the whole runtime takes minutes to build. So the modules that neither wait nor send are put
# into a crate of their own with the tests about them, outside of the repository: a mutant takes seconds there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD runtime=$PWD/coalesce-runtime
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/mutants

cargo mutants --version || {
    echo "tests/mutants.sh: \`cargo install cargo-mutants --locked\` comes first" >&2
    exit 1
}
mkdir -p "$CARGO_TARGET_DIR"
crate=$(mktemp -d)
trap 'rm -rf "$crate"' EXIT
cp -r "$runtime/src" "$runtime/tests" Cargo.lock "$crate"
cp -r tests/golden_keys.rs tests/goldens "$crate/tests"
mkdir "$crate/examples"
cp -r examples/keys "$crate/examples"
# Its tests are modules of the one library, and none needs a server.
sed -i '/^mod redis;$/d; s/\bcrate::/crate::conformance::/g' "$crate"/tests/conformance/{*.rs,cases/*.rs}

# The dependencies of these names in a manifest.
lines() { grep -E "^($1) = (\"|\{ version)" "$2"; }

cat >"$crate/Cargo.toml" <<TOML
[package]
name = "mutants"
edition = "2024"
autobins = false
autotests = false
autoexamples = false
[workspace]
[features]
default = ["bytes", "chrono", "cli", "json", "postcard", "rust_decimal", "time", "url", "uuid"]
cli = []
bytes = []
chrono = []
json = []
postcard = []
rust_decimal = []
time = []
url = []
uuid = []
[dependencies]
coalesce-macros = { path = "$root/coalesce-macros" }
$(lines 'bytes|chrono|fastrand|fred|getrandom|once_cell|postcard|rmp-serde|rust_decimal|serde|serde_json|sha2|time|tokio|tracing|url|uuid' Cargo.toml)
[dev-dependencies]
tokio = { version = "1", features = ["test-util"] }
$(lines proptest "$runtime/Cargo.toml")
TOML

cat >"$crate/src/lib.rs" <<RUST
#![allow(warnings)]
extern crate self as coalesce;
extern crate self as coalesce_runtime;
mod backend {
    pub(crate) mod memory;
    pub(crate) mod redis {
        mod breaker; mod clock; mod fault; mod keyspace; mod pace; mod redirect; mod replies; mod script; mod slots; mod strangers;
    }
}
mod engine;
mod format;
mod ports { pub(crate) mod coordinator; pub(crate) mod health; }
mod words;
pub use backend::memory::MemoryCoordinator;
pub use coalesce_macros::KeyPart;
$(grep '^pub use words::' "$runtime/src/lib.rs")
$(sed -n '/^pub mod co[a-z]* {/,/^}/p' "$runtime/src/lib.rs")
pub mod __private {
    pub use crate::words::{key_part::KeyPart, key_writer::KeyWriter};
}
#[cfg(test)] #[path = "../tests/conformance/main.rs"] mod conformance;
#[cfg(test)] #[path = "../tests/golden_keys.rs"] mod golden_keys;
#[cfg(test)] #[path = "../tests/keys/main.rs"] mod keys;
RUST

[ $# -gt 0 ] || set -- $(sed -n 's/^| `\([a-z_/]*\.rs\)` | [0-9].*/\1/p' tests/MUTANTS.md)
# The example that one test of the keys starts is not built here; what fails is not made smaller, which takes time.
PROPTEST_MAX_SHRINK_ITERS=0 cargo mutants --dir "$crate" --in-place --output "$CARGO_TARGET_DIR" \
    "${@/#/--file=src/}" -- --lib -- --skip a_program_that_was_built_apart
