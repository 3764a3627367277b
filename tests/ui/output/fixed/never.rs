//! A function that never returns: mended.

use coalesce::coalesce;

#[coalesce]
async fn run(id: u64) {
    drop(id);
}

fn main() {}
