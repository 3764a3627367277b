//! A shared result crosses between processes.

use coalesce::coalesce;

struct Order {
    id: u64,
}

#[coalesce]
async fn get(id: u64) -> Order {
    Order { id }
}

fn main() {}
