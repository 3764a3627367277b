//! A function that is not asynchronous.

use coalesce::coalesce;

#[coalesce]
fn get(id: u64) -> u64 {
    id
}

fn main() {}
