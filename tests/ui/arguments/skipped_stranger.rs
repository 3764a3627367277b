//! A skipped argument that does not exist.

use coalesce::coalesce;

#[coalesce(skip(databse))]
async fn get(database: Database, id: u64) -> u64 {
    database.0 + id
}

struct Database(u64);

fn main() {}
