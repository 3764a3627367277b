//! Names that no header can have.

use coalesce::coalesce;

#[coalesce(header_keys = ["X Tenant", ""])]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
