//! A detached body cannot own what is borrowed mutably: mended.

use coalesce::coalesce;

#[coalesce(key = id, skip(out), inline)]
async fn get(id: u64, out: &mut Vec<u64>) {
    out.push(id);
}

fn main() {}
