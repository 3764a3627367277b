//! Type parameters that may be neither written nor able to carry an error.

use coalesce::{KeyPart, coalesce};

#[coalesce]
async fn value<T: KeyPart + Send + 'static>(id: T) -> T {
    id
}

#[coalesce(key = id, skip(error))]
async fn error<E: Clone + Send + 'static>(id: u64, error: E) -> Result<u64, E> {
    if id == 0 { Err(error) } else { Ok(id) }
}

fn main() {}
