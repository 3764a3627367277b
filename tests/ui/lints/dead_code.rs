//! A function that is never called is still dead code.
#![deny(dead_code)]

use coalesce::coalesce;

#[coalesce]
async fn never_called(id: u64) -> u64 {
    id
}

#[coalesce(entry = never_used)]
async fn never_called_either(id: u64) -> u64 {
    id
}

fn main() {}
