//! A union holds nobody knows what.

use coalesce::KeyPart;

#[derive(KeyPart)]
union Number {
    small: u8,
    large: u64,
}

fn main() {}
