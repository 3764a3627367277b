//! A reference to something that cannot be copied.

use coalesce::coalesce;

struct Database(u64);

#[coalesce(key = id, skip(database))]
async fn get(database: &Database, id: u64) -> u64 {
    database.0 + id
}

fn main() {}
