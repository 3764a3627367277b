//! A declaration without a body.

use coalesce::coalesce;

trait Catalogue {
    #[coalesce]
    async fn get(&self, id: u64) -> u64;
}

struct Shop;

impl Catalogue for Shop {
    async fn get(&self, id: u64) -> u64 {
        id
    }
}

fn main() {}
