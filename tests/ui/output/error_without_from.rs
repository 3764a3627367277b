//! An error type that cannot carry ours.

use coalesce::coalesce;

struct Failure;

#[coalesce]
async fn get(id: u64) -> Result<u64, Failure> {
    Ok(id)
}

fn main() {}
