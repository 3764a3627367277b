//! A receiver that is borrowed mutably: mended.

use coalesce::coalesce;

struct Shop(u64);

impl Shop {
    #[coalesce(key = id, inline)]
    async fn get(&mut self, id: u64) -> u64 {
        self.0 += id;
        self.0
    }
}

fn main() {}
