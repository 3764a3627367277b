//! Errors that are kept and shared with nobody: mended.

use coalesce::coalesce;

#[coalesce(errors = "share", keep_errors = "2s")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
