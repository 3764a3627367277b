//! A constant that is no `Duration`.

use coalesce::coalesce;

const FRESH: u64 = 30;

#[coalesce(fresh_ttl = FRESH)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
