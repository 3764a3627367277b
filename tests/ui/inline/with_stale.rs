//! A body of the caller's own cannot run behind its answer.

use coalesce::coalesce;

#[coalesce(inline, stale_ttl = "1m")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
