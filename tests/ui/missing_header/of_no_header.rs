//! An answer to a question that is never asked.

use coalesce::coalesce;

#[coalesce(missing_header = "error")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
