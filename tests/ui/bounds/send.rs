//! A type parameter that may have to stay in its thread.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn get<T: Clone + 'static>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

fn main() {}
