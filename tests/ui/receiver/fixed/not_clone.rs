//! A receiver that cannot be copied: mended.

use coalesce::coalesce;

struct Shop(u64);

impl Shop {
    #[coalesce(key = id)]
    async fn get(self: std::sync::Arc<Self>, id: u64) -> u64 {
        self.0 + id
    }
}

fn main() {}
