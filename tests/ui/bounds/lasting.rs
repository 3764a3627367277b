//! A type parameter that may borrow: a body in a task of its own cannot have it.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn get<T: Clone + Send + Sync>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

fn main() {}
