//! A type parameter that is a key part.

use coalesce::{KeyPart, coalesce};

#[coalesce]
async fn get<T: KeyPart + Send + 'static>(id: T) -> u64 {
    drop(id);
    1
}

fn main() {}
