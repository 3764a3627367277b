//! Sizes that are none, or out of bounds.

use coalesce::coalesce;

#[coalesce(max_payload = "lots")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
