//! A result that must stay in its thread.

use std::marker::PhantomData;

use coalesce::coalesce;

#[derive(serde::Serialize, serde::Deserialize)]
struct Order(PhantomData<*const u8>);

#[coalesce]
async fn get(id: u64) -> Order {
    let _ = id;
    Order(PhantomData)
}

fn main() {}
