//! Lengths of time that cannot be read.

use coalesce::coalesce;

#[coalesce(fresh_ttl = "5 parsecs", stale_ttl = "1M", pending_ttl = 30u64, wait_timeout = 1.5)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
