//! A detached body cannot own what is borrowed mutably.

use coalesce::coalesce;

#[coalesce(key = id, skip(out))]
async fn get(id: u64, out: &mut Vec<u64>) {
    out.push(id);
}

fn main() {}
