//! An answer to errors that there is not.

use coalesce::coalesce;

#[coalesce(errors = "retri")]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
