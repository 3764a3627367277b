//! A union holds nobody knows what: mended.

use coalesce::KeyPart;

#[derive(KeyPart)]
enum Number {
    Small(u8),
    Large(u64),
}

fn main() {}
