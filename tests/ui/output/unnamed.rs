//! A shared result needs a type with a name.

use coalesce::coalesce;

#[coalesce]
async fn get(id: u64) -> impl std::fmt::Display {
    id
}

fn main() {}
