//! A result that can go to another thread.

use std::marker::PhantomData;

use coalesce::coalesce;

#[derive(serde::Serialize, serde::Deserialize)]
struct Order(PhantomData<u8>);

#[coalesce]
async fn get(id: u64) -> Order {
    let _ = id;
    Order(PhantomData)
}

fn main() {}
