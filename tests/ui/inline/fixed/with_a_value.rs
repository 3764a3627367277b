//! The word stands alone: mended.

use coalesce::coalesce;

#[coalesce(inline)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
