//! A version is a number that fits: mended.

use coalesce::coalesce;

#[coalesce(version = 4294967295)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
