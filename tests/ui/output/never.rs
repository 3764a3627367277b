//! A function that never returns.

use coalesce::coalesce;

#[coalesce]
async fn run(id: u64) -> ! {
    std::process::exit(id as i32)
}

fn main() {}
