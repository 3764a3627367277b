//! A name without a letter: mended.

use coalesce::coalesce;

#[coalesce(namespace = "${APP:shop}.orders")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
