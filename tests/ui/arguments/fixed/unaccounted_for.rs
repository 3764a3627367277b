//! An argument that nothing accounts for: mended.

use coalesce::coalesce;

#[coalesce(key = (tenant, id))]
async fn get(id: u64, tenant: &str) -> String {
    format!("{tenant}{id}")
}

fn main() {}
