//! A future without a name.

use coalesce::coalesce;

#[coalesce]
fn get(id: u64) -> impl Future<Output = u64> + Send {
    async move { id }
}

fn main() {
    drop(get(1));
}
