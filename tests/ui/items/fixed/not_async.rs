//! A function that is not asynchronous: mended.

use coalesce::coalesce;

#[coalesce]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
