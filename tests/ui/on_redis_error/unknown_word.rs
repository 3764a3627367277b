//! An answer to a Redis that is away that there is not.

use coalesce::coalesce;

#[coalesce(on_redis_error = "panic")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
