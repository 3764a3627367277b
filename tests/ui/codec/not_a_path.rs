//! A codec is a path, or a word of ours.

use coalesce::coalesce;

#[coalesce(codec = "json")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
