//! Lints about arguments speak as of a plain function.
#![deny(unused, unused_must_use)]

use coalesce::coalesce;

#[coalesce(key = id, skip(unused, changed))]
async fn get(id: u64, unused: u64, mut changed: u64) -> u64 {
    id + changed
}

#[coalesce]
#[must_use = "it was paid for"]
async fn paid(id: u64) -> u64 {
    id
}

async fn call() {
    get(1, 2, 3);
    paid(1).await;
}

fn main() {
    drop(call());
}
