//! An argument that is in the key and skipped: mended.

use coalesce::coalesce;

#[coalesce(key = id)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
