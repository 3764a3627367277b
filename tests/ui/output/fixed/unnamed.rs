//! A shared result needs a type with a name: mended.

use coalesce::coalesce;

#[coalesce]
async fn get(id: u64) -> u64 {
    id
}

fn main() {}
