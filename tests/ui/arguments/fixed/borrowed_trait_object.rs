//! A detached body cannot copy a trait object: mended.

use coalesce::coalesce;

trait Database: Send + Sync {
    fn load(&self, id: u64) -> u64;
}

#[coalesce(key = id, skip(database))]
async fn get(database: std::sync::Arc<dyn Database>, id: u64) -> u64 {
    database.load(id)
}

fn main() {}
