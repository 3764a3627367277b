//! Functions that cannot be shared, and are still there afterwards: mended.

use coalesce::coalesce;

#[coalesce]
async fn constant() -> u64 {
    1
}

#[coalesce]
async fn safe() -> u64 {
    2
}

#[coalesce]
async fn of_rust() -> u64 {
    3
}

fn main() {
    drop((constant(), safe(), of_rust()));
}
