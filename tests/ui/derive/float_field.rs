//! A field that is no key part.

use coalesce::KeyPart;

#[derive(KeyPart)]
struct Offer {
    shop: u32,
    price: f64,
}

#[derive(KeyPart)]
struct Price(f64);

fn main() {}
