//! A shared result crosses between processes: mended.

use coalesce::coalesce;

#[derive(serde::Serialize, serde::Deserialize)]
struct Order {
    id: u64,
}

#[coalesce]
async fn get(id: u64) -> Order {
    Order { id }
}

fn main() {}
