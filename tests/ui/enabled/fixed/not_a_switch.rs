//! A switch that is neither on nor off: mended.

use coalesce::coalesce;

#[coalesce(enabled = "${ORDERS:off}")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
