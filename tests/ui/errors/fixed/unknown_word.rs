//! An answer to errors that there is not: mended.

use coalesce::coalesce;

#[coalesce(errors = "${ERRORS:retry}")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
