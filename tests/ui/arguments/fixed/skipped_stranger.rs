//! A skipped argument that does not exist: mended.

use coalesce::coalesce;

#[coalesce(skip(database))]
async fn get(database: Database, id: u64) -> u64 {
    database.0 + id
}

struct Database(u64);

fn main() {}
