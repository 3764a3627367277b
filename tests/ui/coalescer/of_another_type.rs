//! What calls go to is a coalescer.

use coalesce::coalesce;

const OTHER: u64 = 1;

#[coalesce(coalescer = OTHER)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
