//! Type parameters and default methods whose borrowed values can be copied.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn generic<T: Clone + Send + Sync + 'static>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

#[coalesce(key = id, skip(value))]
async fn optional<T: Clone + Send + Sync + 'static>(value: Option<&T>, id: u64) -> u64 {
    let _ = value;
    id
}

trait Catalogue: Send + Sync + 'static {
    fn factor(&self) -> u64;

    #[coalesce]
    async fn get(&self, id: u64) -> u64
    where
        Self: Clone,
    {
        self.factor() * id
    }
}

fn main() {}
