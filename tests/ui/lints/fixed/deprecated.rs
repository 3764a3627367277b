//! Nothing that is deprecated is called.
#![deny(deprecated)]

use coalesce::coalesce;

#[coalesce(fresh_ttl = "1m", entry = get_entry)]
async fn get(id: u64) -> u64 {
    id
}

struct Shop;

impl Shop {
    #[coalesce]
    async fn method(&self, id: u64) -> u64 {
        id
    }
}

fn main() {
    drop(get(1));
    drop(get_entry(1));
    drop(Shop.method(1));
}
