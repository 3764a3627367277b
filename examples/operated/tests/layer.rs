//! The layer opens the request scope: tenants share within themselves and with nobody else.

use axum::body::Body;
use axum::http::Request;
use coalesce::Coalescer;
use tower::ServiceExt as _;

#[tokio::test]
async fn a_header_behind_the_layer_is_part_of_the_key() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    coalescer.clone().make_default().unwrap();
    let app = operated::app(coalescer.clone());
    let ask = |tenant: &'static str| {
        let request = Request::get("/stock/9").header("x-tenant", tenant);
        let request = request.body(Body::empty()).unwrap();
        let app = app.clone();
        async move { assert!(app.oneshot(request).await.unwrap().status().is_success()) }
    };
    tokio::join!(
        ask("acme"),
        ask("acme"),
        ask("umbrella"),
        ask("acme"),
        ask("umbrella")
    );
    let counts = coalescer.counts();
    assert_eq!((counts.led, counts.followed), (2, 3));
}
