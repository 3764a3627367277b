//! A shared result cannot borrow: mended.

use coalesce::coalesce;

#[coalesce]
async fn get(name: &str) -> String {
    name.to_owned()
}

fn main() {}
