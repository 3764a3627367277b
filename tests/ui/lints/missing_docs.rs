//! A function without documentation is one error, and nothing else that is generated lacks any.
#![deny(missing_docs)]

use coalesce::{KeyPart, coalesce};

/// It has a sentence.
#[derive(KeyPart)]
pub struct Sku(pub u32);

#[coalesce]
pub async fn undocumented(sku: Sku) -> u32 {
    sku.0
}

#[coalesce(entry = with_an_entry_entry)]
pub async fn with_an_entry(sku: Sku) -> u32 {
    sku.0
}

#[coalesce]
/// It has a sentence.
pub async fn documented(sku: Sku) -> u32 {
    sku.0
}

fn main() {}
