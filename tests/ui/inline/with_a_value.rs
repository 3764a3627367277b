//! The word stands alone.

use coalesce::coalesce;

#[coalesce(inline = true)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
