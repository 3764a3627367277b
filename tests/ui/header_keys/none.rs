//! A list without a header.

use coalesce::coalesce;

#[coalesce(header_keys = [])]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
