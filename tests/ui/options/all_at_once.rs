//! Everything that is wrong is said at once, and the function is still there.

use coalesce::coalesce;

#[coalesce(
    fresh_tll = "3s",
    version = 1,
    version = 2,
    errors = "ignore",
    missing_header = "error",
    inline,
    entry = get_entry
)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
