//! An answer to a question that is never asked: mended.

use coalesce::coalesce;

#[coalesce(header_keys = ["X-Tenant"], missing_header = "error")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
