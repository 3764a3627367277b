//! A library that is not there: mended.

use coalesce::coalesce;

mod deps {
    pub use coalesce;
}

#[coalesce(crate = deps::coalesce)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
