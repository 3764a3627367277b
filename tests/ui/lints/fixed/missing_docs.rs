//! Every function has documentation.
#![deny(missing_docs)]

use coalesce::{KeyPart, coalesce};

/// It has a sentence.
#[derive(KeyPart)]
pub struct Sku(pub u32);

/// It has a sentence.
#[coalesce]
pub async fn documented(sku: Sku) -> u32 {
    sku.0
}

/// It has a sentence.
#[coalesce(entry = with_an_entry_entry)]
pub async fn with_an_entry(sku: Sku) -> u32 {
    sku.0
}

fn main() {}
