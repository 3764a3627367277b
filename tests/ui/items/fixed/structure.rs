//! Not a function at all: mended.

use coalesce::coalesce;

struct Shop(u64);

impl Shop {
    #[coalesce]
    async fn get(self, id: u64) -> u64 {
        self.0 + id
    }
}

fn main() {}
