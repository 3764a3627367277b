//! A declaration without a body: mended.

use coalesce::coalesce;

trait Catalogue {
    async fn get(&self, id: u64) -> u64;
}

struct Shop;

impl Catalogue for Shop {
    #[coalesce]
    async fn get(&self, id: u64) -> u64 {
        id
    }
}

fn main() {}
