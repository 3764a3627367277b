//! A field that is no key part: mended.

use coalesce::KeyPart;

#[derive(KeyPart)]
struct Offer {
    shop: u32,
    cents: u64,
}

struct Price(f64);

impl KeyPart for Price {
    fn write(&self, out: &mut coalesce::KeyWriter<'_>) {
        out.transparent(&self.0.to_bits());
    }
}

fn main() {}
