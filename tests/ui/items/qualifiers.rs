//! Functions that cannot be shared, and are still there afterwards.

use coalesce::coalesce;

#[coalesce]
const fn constant() -> u64 {
    1
}

#[coalesce]
async unsafe fn not_safe() -> u64 {
    2
}

#[coalesce]
extern "C" fn foreign() -> u64 {
    3
}

fn main() {
    let _: [u64; 1] = [constant() + foreign()];
    drop(unsafe { not_safe() });
}
