//! An entry may outlive the call.

use coalesce::coalesce;

#[coalesce(inline, entry = get_entry)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    drop(get(1));
}
