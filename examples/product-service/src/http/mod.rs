//! HTTP: the routes, and what stands around all of them.

mod admin;
mod answer;
mod health;
mod measure;
mod products;
mod status;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use coalesce::Coalescer;
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::catch_panic::CatchPanicLayer;

use crate::catalog::Catalog;
use crate::config::Config;
use crate::faults::Faults;
use crate::limiter::Limiter;

pub use status::Status;

/// The longest body that is read: a product is smaller.
const LONGEST_BODY: usize = 32 * 1024;

/// What the routes of one replica share.
#[derive(Debug)]
pub struct Replica {
    /// What it was told.
    pub config: Config,
    /// Products.
    pub catalog: Catalog,
    /// What is wrong on purpose with the database behind them.
    pub faults: Arc<Faults>,
    /// The limiter of product reads.
    pub limiter: Limiter,
    /// What the replicas share their reads through.
    pub coalescer: Coalescer,
    /// Whether it has been told to end.
    pub draining: AtomicBool,
    /// How many product reads there were, without those that the cache refused.
    pub requests: AtomicU64,
    /// How many product reads found no such product.
    pub not_found: AtomicU64,
    /// What Prometheus is told.
    pub metrics: PrometheusHandle,
}

type Shared = State<Arc<Replica>>;

/// The service.
pub fn router(replica: &Arc<Replica>) -> Router {
    // What is layered is what stands before it: reads are limited, writes are not.
    let product = get(products::read)
        .route_layer(from_fn_with_state(Arc::clone(replica), products::limited))
        .put(products::write);
    Router::new()
        .route("/api/v1/products/{id}", product)
        .route("/api/v1/products/cache/status", get(status::status))
        .route("/healthz", get(health::lives))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(measure::metrics))
        .route("/admin/faults", put(admin::faults))
        .route("/admin/limit", put(admin::limit))
        .fallback(|| async { answer::Problem::NoSuchRoute })
        .with_state(Arc::clone(replica))
        .merge(admin::coalescing(replica))
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(CatchPanicLayer::custom(|_| {
            answer::Problem::Panicked.into_response()
        }))
        .layer(from_fn_with_state(Arc::clone(replica), signed))
        .layer(from_fn(measure::measured))
}

/// Says who answered. While it drains, also that the connection ends: who pools connections must not send the
/// next request into one that is about to close.
async fn signed(State(replica): Shared, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Ok(instance) = HeaderValue::from_str(&replica.config.instance) {
        headers.insert("x-instance", instance);
    }
    if replica.draining.load(Ordering::Relaxed) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

#[cfg(test)]
mod tests;
