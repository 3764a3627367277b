//! The service, called as its framework calls it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use headers_axum::{RUNS, app};
use tower::ServiceExt as _;

async fn ask(path: &str, tenant: Option<&str>) -> (StatusCode, String) {
    let mut request = Request::get(path);
    if let Some(tenant) = tenant {
        request = request.header("X-Tenant-Id", tenant);
    }
    let response = app().oneshot(request.body(Body::empty()).unwrap()).await;
    let (head, body) = response.unwrap().into_parts();
    let body = to_bytes(body, 1024).await.unwrap();
    (head.status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_debug_handler_may_stand_on_either_side() {
    let coalescer = coalesce::Coalescer::builder().in_process().build().await;
    coalescer.unwrap().make_default().unwrap();

    let (one, other, foreign) = tokio::join!(
        ask("/orders/7", Some("acme")),
        ask("/orders/7", Some("acme")),
        ask("/orders/7", Some("globex")),
    );
    assert_eq!(one, other);
    assert_ne!(one, foreign);
    assert_eq!((one.0, foreign.0), (StatusCode::OK, StatusCode::OK));
    assert_eq!(RUNS.load(Ordering::Relaxed), 2);

    let without = ask("/orders/7", None).await;
    assert_eq!(
        without,
        (StatusCode::BAD_REQUEST, "X-Tenant-Id is missing".to_owned())
    );
    assert_eq!(
        ask("/prices/7", None).await,
        (StatusCode::OK, "700".to_owned())
    );
}
