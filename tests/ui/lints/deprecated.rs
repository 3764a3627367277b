//! What is deprecated is said where it is called, once each, and nowhere in generated code.
#![deny(deprecated)]

use coalesce::coalesce;

#[deprecated = "use `get`"]
#[coalesce]
async fn above(id: u64) -> u64 {
    id
}

#[coalesce(fresh_ttl = "1m", entry = below_entry)]
#[deprecated = "use `get`"]
async fn below(id: u64) -> u64 {
    id
}

struct Shop;

impl Shop {
    #[coalesce]
    #[deprecated = "use `get`"]
    async fn method(&self, id: u64) -> u64 {
        id
    }
}

fn main() {
    drop(above(1));
    drop(below(1));
    drop(below_entry(1));
    drop(Shop.method(1));
}
