//! A switch that is neither on nor off.

use coalesce::coalesce;

#[coalesce(self_bypass = "sometimes")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
