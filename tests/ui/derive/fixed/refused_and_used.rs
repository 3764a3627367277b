//! The field that does not count is not in the type.

use coalesce::{KeyPart, coalesce};

#[derive(Clone, KeyPart)]
struct Sku {
    shop: u32,
}

#[coalesce]
async fn stock(sku: Sku) -> u32 {
    sku.shop
}

#[coalesce]
async fn stocks(skus: Vec<Sku>) -> usize {
    skus.len()
}

fn main() {}
