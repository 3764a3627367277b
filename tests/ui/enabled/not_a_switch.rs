//! A switch that is neither on nor off.

use coalesce::coalesce;

#[coalesce(enabled = "perhaps")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
