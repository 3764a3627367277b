//! An error type that cannot carry ours: mended.

use coalesce::coalesce;

struct Failure;

impl From<coalesce::Error> for Failure {
    fn from(_: coalesce::Error) -> Self {
        Self
    }
}

#[coalesce]
async fn get(id: u64) -> Result<u64, Failure> {
    Ok(id)
}

fn main() {}
