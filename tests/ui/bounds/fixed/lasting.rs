//! A type parameter that borrows nothing.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn get<T: Clone + Send + Sync + 'static>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

fn main() {}
