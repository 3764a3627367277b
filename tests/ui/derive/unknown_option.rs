//! Options that the derive does not have, all reported at once.

use coalesce::KeyPart;

#[derive(KeyPart)]
#[key(rename = "sku")]
struct Sku {
    shop: u32,
    #[key(skip)]
    note: String,
}

fn main() {}
