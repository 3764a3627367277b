//! Functions that cannot be shared, and are still there afterwards: mended.

use coalesce::coalesce;

#[coalesce]
async fn constant() -> u64 {
    1
}

async unsafe fn not_safe() -> u64 {
    2
}

#[coalesce]
async fn safe() -> u64 {
    // SAFETY: it does nothing.
    unsafe { not_safe().await }
}

fn main() {
    drop((constant(), safe()));
}
