//! What calls go to is a coalescer: mended.

use coalesce::{Coalescer, coalesce};

struct Shop {
    coalescer: Coalescer,
}

impl Shop {
    #[coalesce(coalescer = self.coalescer)]
    async fn get(&self, id: u64) -> u64 {
        id
    }
}

fn main() {
    let _ = |shop: Shop| drop(shop.get(1));
}
