//! A type error in the key points into the attribute: mended.

use coalesce::coalesce;

#[coalesce(key = id.count_ones())]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
