//! A result that can be written and read.

use coalesce::coalesce;

#[derive(serde::Serialize, serde::Deserialize)]
struct Order {
    id: u64,
}

#[coalesce]
async fn get(id: u64) -> Order {
    Order { id }
}

#[coalesce]
async fn list(id: u64) -> Vec<Order> {
    vec![Order { id }]
}

fn main() {}
