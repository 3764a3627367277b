//! A type error in the key points into the attribute.

use coalesce::coalesce;

#[coalesce(key = id.nope())]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
