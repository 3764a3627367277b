//! A library that is not there.

use coalesce::coalesce;

#[coalesce(crate = deps::coalesce)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
