//! Clocks in a wrong relation to each other: mended.

use coalesce::coalesce;

#[coalesce(fresh_ttl = 10, stale_ttl = "30s", pending_ttl = 20, wait_timeout = "25s")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
