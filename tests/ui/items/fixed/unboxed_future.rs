//! A future without a name: mended.

use std::pin::Pin;

use coalesce::coalesce;

#[coalesce]
fn get(id: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move { id })
}

fn main() {
    drop(get(1));
}
