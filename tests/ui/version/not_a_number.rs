//! A version is a number that fits.

use coalesce::coalesce;

#[coalesce(version = 4294967296)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
