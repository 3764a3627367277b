//! Another attribute has made the function synchronous before this one sees it: mended.

use coalesce::coalesce;

#[coalesce]
async fn work() {}

#[tokio::main]
async fn main() {
    work().await;
}
