//! Type parameters and default methods whose borrowed values cannot be copied.

use coalesce::coalesce;

#[coalesce(key = id, skip(value))]
async fn generic<T: Send + Sync + 'static>(value: &T, id: u64) -> u64 {
    let _ = value;
    id
}

#[coalesce(key = id, skip(value))]
async fn optional<T: Send + Sync + 'static>(value: Option<&T>, id: u64) -> u64 {
    let _ = value;
    id
}

trait Catalogue: Send + Sync + 'static {
    fn factor(&self) -> u64;

    #[coalesce]
    async fn get(&self, id: u64) -> u64 {
        self.factor() * id
    }
}

fn main() {}
