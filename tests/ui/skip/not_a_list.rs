//! What is skipped is a list of names.

use coalesce::coalesce;

#[coalesce(skip = id)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
