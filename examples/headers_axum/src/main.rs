//! Serves the example on 127.0.0.1:3000.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Redis at COALESCE_REDIS_URL, or this process alone.
    coalesce::Coalescer::builder()
        .build()
        .await?
        .make_default()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, headers_axum::app()).await?;
    Ok(())
}
