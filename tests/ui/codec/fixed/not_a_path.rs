//! A codec is a path, or a word of ours: mended.

use coalesce::coalesce;

#[coalesce(codec = messagepack)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
