//! A result that can be written and not read, on its own and inside a list.

use coalesce::coalesce;

#[derive(serde::Serialize)]
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
