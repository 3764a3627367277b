//! Lengths of time that cannot be read: mended.

use coalesce::coalesce;

#[coalesce(fresh_ttl = "5m", stale_ttl = "30d", pending_ttl = 30, wait_timeout = "31s 500ms")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
