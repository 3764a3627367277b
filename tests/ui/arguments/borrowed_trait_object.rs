//! A detached body cannot copy a trait object.

use coalesce::coalesce;

trait Database: Send + Sync {
    fn load(&self, id: u64) -> u64;
}

#[coalesce(key = id, skip(database))]
async fn get(database: &dyn Database, id: u64) -> u64 {
    database.load(id)
}

fn main() {}
