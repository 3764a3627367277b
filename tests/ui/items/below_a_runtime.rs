//! Another attribute has made the function synchronous before this one sees it.

use coalesce::coalesce;

#[tokio::main]
#[coalesce]
async fn main() {}
