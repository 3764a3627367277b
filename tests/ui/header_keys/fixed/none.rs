//! A list without a header: mended.

use coalesce::coalesce;

#[coalesce]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
