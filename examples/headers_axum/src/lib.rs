//! Request headers as part of the key: a middleware opens the scope, and a handler is coalesced.
//!
//! ```text
//! cargo run -p headers-axum
//! curl -H 'X-Tenant-Id: acme' http://127.0.0.1:3000/orders/7
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use coalesce::{Headers, coalesce};

/// The service.
pub fn app() -> Router {
    Router::new()
        .route("/orders/{id}", get(order))
        .route("/prices/{id}", get(price))
        .layer(from_fn(with_headers))
}

/// Opens the request scope: what is called below finds the headers there.
async fn with_headers(request: Request, next: Next) -> Response {
    let texts = request.headers().iter().filter_map(|(name, value)| {
        let value = value.to_str().ok()?;
        Some((name.as_str().to_owned(), value.to_owned()))
    });
    let headers = Headers::new(texts.collect::<Vec<_>>());
    headers.scope(next.run(request)).await
}

/// How many times the slow part has run.
pub static RUNS: AtomicU32 = AtomicU32::new(0);

/// Whoever asks for one order on behalf of one tenant shares the work; other tenants have their own.
#[axum::debug_handler]
#[coalesce(key = id, header_keys = ["X-Tenant-Id"], missing_header = "error")]
async fn order(Path(id): Path<u64>) -> Result<String, Failure> {
    tokio::time::sleep(Duration::from_millis(50)).await; // the slow part
    let run = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
    Ok(format!("order {id}, run {run}"))
}

/// The same the other way round: either order of the attributes will do.
#[coalesce(key = id, fresh_ttl = "30s")]
#[axum::debug_handler]
async fn price(Path(id): Path<u64>) -> String {
    format!("{id}00")
}

/// What a caller is told when it cannot be answered.
#[derive(Debug)]
pub enum Failure {
    /// A header that is part of the key is absent.
    NoTenant,
    /// The answer of another caller did not come.
    Unavailable,
}

impl From<coalesce::Error> for Failure {
    fn from(error: coalesce::Error) -> Self {
        match error {
            coalesce::Error::MissingHeader { .. } => Self::NoTenant,
            _ => Self::Unavailable,
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::NoTenant => (StatusCode::BAD_REQUEST, "X-Tenant-Id is missing").into_response(),
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        }
    }
}
