//! An argument that nothing accounts for.

use coalesce::coalesce;

#[coalesce(key = id)]
async fn get(id: u64, tenant: &str) -> String {
    format!("{tenant}{id}")
}

fn main() {}
