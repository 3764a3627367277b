//! A shared result cannot borrow.

use coalesce::coalesce;

#[coalesce]
async fn get(name: &str) -> &str {
    name
}

fn main() {}
