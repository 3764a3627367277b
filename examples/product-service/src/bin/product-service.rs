//! One replica of the product service, configured by its environment.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    product_service::program::main().await
}
