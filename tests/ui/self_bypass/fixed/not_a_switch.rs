//! A switch that is neither on nor off: mended.

use coalesce::coalesce;

#[coalesce(self_bypass = "${ORDERS_SELF_BYPASS:off}")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
