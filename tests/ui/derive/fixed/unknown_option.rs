//! Options that the derive does not have, all reported at once: mended.

use coalesce::KeyPart;

#[derive(KeyPart)]
#[key(crate = ::coalesce)]
struct Sku {
    shop: u32,
}

struct Noted {
    sku: Sku,
    note: String,
}

#[coalesce::coalesce(key = noted.sku)]
async fn get(noted: Noted) -> usize {
    noted.note.len()
}

fn main() {}
