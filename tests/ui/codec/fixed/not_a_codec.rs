//! A type that is no codec: mended.

use coalesce::coalesce;

#[coalesce(codec = coalesce::codec::MessagePack)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
