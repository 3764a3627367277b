//! Not a function at all.

use coalesce::coalesce;

#[coalesce]
struct Shop(u64);

fn main() {}
