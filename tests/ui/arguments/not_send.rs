//! A detached body runs on any thread.

use std::rc::Rc;

use coalesce::coalesce;

#[coalesce(key = id, skip(database))]
async fn get(database: Rc<u64>, id: u64) -> u64 {
    *database + id
}

fn main() {}
