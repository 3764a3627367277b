//! Everything that is wrong is said at once, and the function is still there: mended.

use coalesce::coalesce;

#[coalesce(
    fresh_ttl = "3s",
    version = 2,
    errors = "retry",
    header_keys = ["X-Tenant"],
    missing_header = "empty",
    entry = get_entry
)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
