//! A derive that is refused is one error, wherever the type is used as a key part.

use coalesce::{KeyPart, coalesce};

#[derive(Clone, KeyPart)]
struct Sku {
    shop: u32,
    #[key(skip)]
    note: String,
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
