//! Sizes that are none, or out of bounds: mended.

use coalesce::coalesce;

#[coalesce(max_payload = "64KiB")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
