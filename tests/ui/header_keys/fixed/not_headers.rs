//! Names that no header can have: mended.

use coalesce::coalesce;

#[coalesce(header_keys = ["X-Tenant", "${HEADERS:X-User}"])]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
