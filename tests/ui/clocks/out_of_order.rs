//! Clocks in a wrong relation to each other.

use coalesce::coalesce;

#[coalesce(fresh_ttl = 30, stale_ttl = "10s", wait_timeout = "25s")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
