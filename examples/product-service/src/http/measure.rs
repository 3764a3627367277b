//! What HTTP looks like to Prometheus, and the page that it reads.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use super::Shared;

/// Counts each request, and measures those that have a route. The route is the pattern and never the path: a
/// label with a product's number in it would be a series per product.
pub(super) async fn measured(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.extensions().get::<MatchedPath>();
    let route = path.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let method = label_of(request.method());
    let response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    metrics::counter!("http_requests_total", "method" => method, "route" => route.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("http_request_duration_seconds", "route" => route).record(begun.elapsed());
    response
}

pub(super) async fn metrics(State(replica): Shared) -> String {
    metrics_process::Collector::default().collect();
    replica.metrics.render()
}

/// A client can invent methods, and each would be a series.
fn label_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}
