//! A constant that is no `Duration`: mended.

use coalesce::coalesce;

const FRESH: std::time::Duration = std::time::Duration::from_secs(30);

#[coalesce(fresh_ttl = FRESH)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
