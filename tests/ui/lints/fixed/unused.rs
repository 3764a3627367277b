//! Lints about arguments speak as of a plain function: mended.
#![deny(unused, unused_must_use)]

use coalesce::coalesce;

#[coalesce(key = id, skip(_unused, changed))]
async fn get(id: u64, _unused: u64, changed: u64) -> u64 {
    id + changed
}

#[coalesce]
#[must_use = "it was paid for"]
async fn paid(id: u64) -> u64 {
    id
}

async fn call() -> u64 {
    get(1, 2, 3).await + paid(1).await
}

fn main() {
    drop(call());
}
