//! Serves on 127.0.0.1:7700, calls itself all the time, and shows what coalescing does under `/coalesce`.
//!
//! Redis at `COALESCE_REDIS_URL`, or this process alone.

#![expect(clippy::print_stdout, reason = "an example says where to look")]

use std::error::Error;

use coalesce::Coalescer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let coalescer = Coalescer::builder().build().await?;
    coalescer.clone().make_default()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:7700").await?;
    tokio::spawn(operated::load());
    println!("http://127.0.0.1:7700/coalesce");
    axum::serve(listener, operated::app(coalescer)).await?;
    Ok(())
}
