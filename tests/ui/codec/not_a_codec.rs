//! A type that is no codec.

use coalesce::coalesce;

pub struct Packed;

#[coalesce(codec = Packed)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
