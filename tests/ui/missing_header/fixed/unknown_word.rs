//! An answer that there is not: mended.

use coalesce::coalesce;

#[coalesce(header_keys = ["X-Tenant"], missing_header = "${MISSING:error}")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
