//! A type parameter that may be no key part.

use coalesce::coalesce;

#[coalesce]
async fn get<T: Send + 'static>(id: T) -> u64 {
    drop(id);
    1
}

fn main() {}
