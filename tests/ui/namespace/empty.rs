//! A name without a letter.

use coalesce::coalesce;

#[coalesce(namespace = "")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
