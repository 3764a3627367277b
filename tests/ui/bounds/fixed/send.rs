//! A type parameter that can go to another thread; `inline` would do as well.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn get<T: Clone + Send + Sync + 'static>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

#[coalesce(key = id, skip(value), inline)]
async fn get_inline<T>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

fn main() {}
