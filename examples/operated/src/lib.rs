//! A small service with two coalesced functions, a load, and the admin router.

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::get;
use coalesce::admin::{AdminAccess, router};
use coalesce::{Coalescer, HeadersLayer, coalesce};

/// Fresh for a second: most calls are answered by what is stored.
#[coalesce(fresh_ttl = "1s", stale_ttl = "1m")]
async fn price(item: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(40)).await;
    item * 100
}

/// Nothing is retained, and each tenant has work of its own: calls share what is in flight.
#[coalesce(key = item, header_keys = ["x-tenant"], missing_header = "empty")]
async fn stock(item: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(120)).await;
    item % 7
}

/// The service. The admin router asks nobody for a token: this listens on this machine alone.
pub fn app(coalescer: Coalescer) -> Router {
    Router::new()
        .route(
            "/price/{item}",
            get(|Path(item): Path<u64>| async move { price(item).await.to_string() }),
        )
        .route(
            "/stock/{item}",
            get(|Path(item): Path<u64>| async move { stock(item).await.to_string() }),
        )
        .layer(HeadersLayer)
        .nest(
            "/coalesce",
            router(coalescer, AdminAccess::inner_listener()),
        )
}

/// Forty callers without end: they ask for few prices, and for the stock of more items.
pub async fn load() {
    let callers = (0..40).map(|_| {
        tokio::spawn(async {
            loop {
                price(fastrand::u64(..5)).await;
                stock(fastrand::u64(..20)).await;
                tokio::time::sleep(Duration::from_millis(fastrand::u64(..50))).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        // It ends with the process.
        let _ = caller.await;
    }
}
