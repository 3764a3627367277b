#!/usr/bin/env bash
# What 200 annotated functions cost to compile, beside the same 200 under `#[tracing::instrument]`.
#
#     bash tests/compile_time.sh            # fails when the ratio is above 2
#
# Both are built in one run, in turns, with nothing but themselves to compile; the least of three
# turns counts, because a busy machine only ever adds. `check` is what an editor and most edits cost.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
functions=200 rounds=3 limit=2.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/compile_time CARGO_INCREMENTAL=0
mkdir -p "$work/src/bin"

cat >"$work/Cargo.toml" <<TOML
[package]
name = "compile-time"
edition = "2024"
[workspace]
[dependencies]
coalesce-rs = { path = "$root" }
tokio = { version = "1", features = ["rt", "macros", "time"] }
tracing = "0.1"
TOML
cp "$root/Cargo.lock" "$work/Cargo.lock"

# One program: its attribute, and 200 functions of three forms.
program() {
    local attribute=$1 with_skip=$2
    echo '#![allow(dead_code)]'
    echo '#[derive(Clone)] pub struct Shop { tenant: u64 }'
    for ((n = 0; n < functions; n++)); do
        case $((n % 3)) in
        0) echo "$attribute pub async fn f$n(id: u64) -> u64 { tokio::task::yield_now().await; id + $n }" ;;
        1) echo "$with_skip pub async fn f$n(db: std::sync::Arc<String>, id: u64, name: String) -> Result<String, Box<dyn std::error::Error + Send + Sync>> { tokio::task::yield_now().await; let page: u64 = name.parse()?; Ok(format!(\"{db}{}\", id + page + $n)) }" ;;
        2) echo "impl Shop { $attribute pub async fn f$n(&self, id: u64) -> Option<u64> { tokio::task::yield_now().await; id.checked_add(self.tenant + $n) } }" ;;
        esac
    done
    echo '#[tokio::main(flavor = "current_thread")] async fn main() {'
    echo '    let shop = Shop { tenant: 1 }; let mut sum = 0;'
    for ((n = 0; n < functions; n++)); do
        case $((n % 3)) in
        0) echo "    sum += f$n(1).await;" ;;
        1) echo "    sum += f$n(Default::default(), 1, \"1\".into()).await.unwrap_or_default().len() as u64;" ;;
        2) echo "    sum += shop.f$n(1).await.unwrap_or_default();" ;;
        esac
    done
    echo '    println!("{sum}"); }'
}
program '#[coalesce::coalesce]' '#[coalesce::coalesce(skip(db))]' >"$work/src/bin/coalesced.rs"
program '#[tracing::instrument(skip_all)]' '#[tracing::instrument(skip_all)]' >"$work/src/bin/instrumented.rs"

# Milliseconds of one build of one program that has just been changed.
once() {
    local command=$1 program=$2 began
    touch "$work/src/bin/$program.rs"
    began=$(date +%s%N)
    cargo "$command" --quiet --manifest-path "$work/Cargo.toml" --bin "$program"
    echo $((($(date +%s%N) - began) / 1000000))
}

least() {
    local command=$1 program=$2 best=999999999 took round
    for ((round = 0; round < rounds; round++)); do
        took=$(once "$command" "$program")
        ((took < best)) && best=$took
    done
    echo "$best"
}

failed=0
for command in check build; do
    cargo "$command" --quiet --manifest-path "$work/Cargo.toml"
    instrumented=$(least "$command" instrumented)
    coalesced=$(least "$command" coalesced)
    ratio=$(awk -v a="$coalesced" -v b="$instrumented" 'BEGIN { printf "%.2f", a / b }')
    echo "$command: $functions functions, instrumented $instrumented ms, coalesced $coalesced ms, ratio $ratio"
    awk -v ratio="$ratio" -v limit="$limit" 'BEGIN { exit ratio > limit }' || failed=1
done
exit "$failed"
