//! Type parameters that can be written, and carry an error.

use coalesce::{CarriesErrors, KeyPart, Shared, coalesce};

#[coalesce]
async fn value<T: KeyPart + Shared + Send + 'static>(id: T) -> T {
    id
}

#[coalesce(key = id, skip(error))]
async fn error<E: CarriesErrors + Clone + Send + 'static>(id: u64, error: E) -> Result<u64, E> {
    if id == 0 { Err(error) } else { Ok(id) }
}

fn main() {}
