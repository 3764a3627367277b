//! A function that is never called is still dead code: mended.
#![deny(dead_code)]

use coalesce::coalesce;

#[coalesce]
async fn called(id: u64) -> u64 {
    id
}

#[coalesce(entry = used)]
async fn never_called_directly(id: u64) -> u64 {
    id
}

fn call() {
    drop(called(1));
    let _ = used(1);
}

fn main() {
    call();
}
