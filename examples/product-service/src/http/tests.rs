//! Tests of the routes, without a server: a table in memory, and a coalescer of this process alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Method, StatusCode};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::catalog::{DatabaseDown, Repository};
use crate::faults::Faulty;
use crate::product::{Changes, Product};

const TOKEN: &str = "the admin's token";

/// A table with product 1. Whoever asks for product 13 meets a mistake of the programmer.
struct Table(Mutex<BTreeMap<i64, Product>>);

#[async_trait]
impl Repository for Table {
    async fn find(&self, id: i64) -> Result<Option<Product>, DatabaseDown> {
        assert_ne!(id, 13, "the mistake");
        Ok(self.0.lock().unwrap().get(&id).cloned())
    }

    async fn answers(&self) -> bool {
        true
    }

    async fn update(&self, id: i64, changes: Changes) -> Result<Option<Product>, DatabaseDown> {
        let mut table = self.0.lock().unwrap();
        let Some(product) = table.get_mut(&id) else {
            return Ok(None);
        };
        *product = product_of(id, changes);
        Ok(Some(product.clone()))
    }
}

fn product_of(id: i64, changes: Changes) -> Product {
    Product {
        id,
        name: changes.name,
        description: changes.description,
        price: changes.price,
        stocks: changes.stocks,
        available: changes.available,
    }
}

fn lamp() -> Value {
    json!({"name": "Lamp", "description": "It shines.", "price": "19.90", "stocks": 3, "available": true})
}

fn lamp_with(field: &str, value: Value) -> Value {
    let mut lamp = lamp();
    lamp[field] = value;
    lamp
}

async fn replica(token: Option<&str>) -> Arc<Replica> {
    let config = Config::read(|name| match name {
        "DATABASE_URL" => Some("postgres://unused/".to_owned()),
        "INSTANCE" => Some("blue".to_owned()),
        "ADMIN_TOKEN" => token.map(str::to_owned),
        _ => None,
    });
    let config = config.unwrap();
    let faults = Arc::<Faults>::default();
    let product = product_of(1, serde_json::from_value(lamp()).unwrap());
    let table = Table(Mutex::new([(1, product)].into()));
    let repository = Arc::new(Faulty::new(table, Arc::clone(&faults)));
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    Arc::new(Replica {
        catalog: Catalog::new(repository, coalescer.clone()),
        faults,
        limiter: Limiter::new(
            "redis://127.0.0.1:1/",
            config.limit,
            config.limiter_deadline,
        )
        .unwrap(),
        coalescer,
        draining: AtomicBool::new(false),
        requests: AtomicU64::new(0),
        not_found: AtomicU64::new(0),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        config,
    })
}

/// Sends one request through all layers; the answer's status, headers and JSON.
async fn send(replica: &Arc<Replica>, request: Request) -> (StatusCode, Response<()>, Value) {
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let service = router(replica).layer(MockConnectInfo(peer));
    let (head, body) = service.oneshot(request).await.unwrap().into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    (head.status, Response::from_parts(head, ()), json)
}

async fn get_of(replica: &Arc<Replica>, path: &str) -> (StatusCode, Value) {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let (status, _, json) = send(replica, request).await;
    (status, json)
}

async fn put_to(
    replica: &Arc<Replica>,
    path: &str,
    token: Option<&str>,
    body: impl Into<Body>,
) -> (StatusCode, Value) {
    let mut request = Request::put(path).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (status, _, json) = send(replica, request.body(body.into()).unwrap()).await;
    (status, json)
}

#[tokio::test]
async fn a_product_has_all_its_fields_and_the_name_of_who_answered() {
    let replica = replica(None).await;
    let request = Request::get("/api/v1/products/1").body(Body::empty());
    let (status, response, product) = send(&replica, request.unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(product, lamp_with("id", json!(1)));
    assert_eq!(response.headers()["x-instance"], "blue");
}

#[tokio::test]
async fn each_mistake_has_its_status() {
    let replica = replica(None).await;
    for (path, status) in [
        ("/api/v1/products/999999", StatusCode::NOT_FOUND),
        ("/api/v1/products/abc", StatusCode::BAD_REQUEST),
        ("/api/v1/products/-1", StatusCode::BAD_REQUEST),
        ("/api/v1/products/1.5", StatusCode::BAD_REQUEST),
        (
            "/api/v1/products/9223372036854775808",
            StatusCode::BAD_REQUEST,
        ),
        ("/api/v1/products/%FF", StatusCode::BAD_REQUEST),
        ("/api/v1/products/", StatusCode::NOT_FOUND),
        ("/nothing", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(get_of(&replica, path).await.0, status, "{path}");
    }
    let request = Request::delete("/api/v1/products/1").body(Body::empty());
    let (status, ..) = send(&replica, request.unwrap()).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn what_is_wrong_with_a_write_is_said_and_nothing_is_written() {
    let replica = replica(None).await;
    let path = "/api/v1/products/1";
    let long = "x".repeat(LONGEST_BODY);
    for (body, status) in [
        ("{".to_owned(), StatusCode::BAD_REQUEST),
        ("[]".to_owned(), StatusCode::BAD_REQUEST),
        (r#"{"name":"Lamp"}"#.to_owned(), StatusCode::BAD_REQUEST),
        (
            lamp_with("colour", json!("red")).to_string(),
            StatusCode::BAD_REQUEST,
        ),
        (
            lamp_with("name", json!("")).to_string(),
            StatusCode::BAD_REQUEST,
        ),
        (
            lamp_with("price", json!("-1")).to_string(),
            StatusCode::BAD_REQUEST,
        ),
        (
            lamp_with("stocks", json!(-1)).to_string(),
            StatusCode::BAD_REQUEST,
        ),
        (
            lamp_with("name", json!(long)).to_string(),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ] {
        let (answered, said) = put_to(&replica, path, None, body.clone()).await;
        assert_eq!(answered, status, "{body:.60}");
        assert!(said["error"].is_string(), "{body:.60}: {said}");
    }
    let request = Request::put(path).body(Body::from(lamp().to_string()));
    let (status, ..) = send(&replica, request.unwrap()).await;
    assert_eq!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(get_of(&replica, path).await.1, lamp_with("id", json!(1)));
}

#[tokio::test]
async fn a_write_answers_the_product_and_the_next_read_has_it() {
    let replica = replica(None).await;
    let path = "/api/v1/products/1";
    get_of(&replica, path).await;
    let torch = lamp_with("name", json!("Torch"));
    let (status, written) = put_to(&replica, path, None, torch.to_string()).await;
    assert_eq!(
        (status, &written["name"]),
        (StatusCode::OK, &json!("Torch"))
    );
    assert_eq!(get_of(&replica, path).await, (StatusCode::OK, written));
    let (status, _) = put_to(&replica, "/api/v1/products/2", None, torch.to_string()).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_panic_is_an_answer() {
    let replica = replica(None).await;
    let (status, said) = get_of(&replica, "/api/v1/products/13").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!said.to_string().contains("mistake"), "{said}");
    assert_eq!(
        get_of(&replica, "/api/v1/products/1").await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn without_a_token_there_are_no_admin_routes() {
    let replica = replica(None).await;
    for path in ["/admin/faults", "/admin/limit", "/admin/coalesce/switch"] {
        let (status, _) = put_to(&replica, path, Some(""), "{}").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn only_the_token_opens_the_admin_routes() {
    let replica = replica(Some(TOKEN)).await;
    let body = r#"{"database_delay_ms":5}"#;
    let longer = format!("{TOKEN}.");
    for (token, refusal) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::FORBIDDEN),
        (Some("the admin toke"), StatusCode::FORBIDDEN),
        (Some(&*longer), StatusCode::FORBIDDEN),
    ] {
        for path in ["/admin/faults", "/admin/limit", "/admin/coalesce/switch"] {
            let (status, _) = put_to(&replica, path, token, body).await;
            assert_eq!(status, refusal, "{path} {token:?}");
        }
    }
    assert_eq!(replica.faults.now().database_delay_ms, 0);
    let (status, now) = put_to(&replica, "/admin/faults", Some(TOKEN), body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        now,
        json!({"database_delay_ms": 5, "database_fails": false})
    );
    for wrong in [r#"{"database_delay_ms":60001}"#, r#"{"delay":1}"#] {
        let (status, _) = put_to(&replica, "/admin/faults", Some(TOKEN), wrong).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let limit = r#"{"limit":100,"window_ms":10000}"#;
    let (status, _) = put_to(&replica, "/admin/limit", Some(TOKEN), limit).await;
    assert_eq!(
        (status, replica.limiter.limit().limit),
        (StatusCode::OK, 100)
    );
    let off = r#"{"on":false,"author":"ada","reason":"slow"}"#;
    let (status, _) = put_to(&replica, "/admin/coalesce/switch", Some(TOKEN), off).await;
    assert_eq!(status, StatusCode::OK);
    get_of(&replica, "/api/v1/products/1").await;
    assert_eq!(replica.coalescer.counts().bypassed, 1);
    let no_window = r#"{"limit":100,"window_ms":0}"#;
    let (status, _) = put_to(&replica, "/admin/limit", Some(TOKEN), no_window).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_broken_database_is_503_for_reads_and_writes() {
    let replica = replica(None).await;
    replica.faults.change(crate::faults::FaultsWanted {
        database_fails: Some(true),
        ..Default::default()
    });
    let path = "/api/v1/products/1";
    let (status, _) = get_of(&replica, path).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let (status, _) = put_to(&replica, path, None, lamp().to_string()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn who_drains_says_so_and_closes_connections() {
    let replica = replica(None).await;
    let ask = || Request::get("/readyz").body(Body::empty()).unwrap();
    let (status, response, _) = send(&replica, ask()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!response.headers().contains_key("connection"));
    replica.draining.store(true, Ordering::Relaxed);
    let (status, response, _) = send(&replica, ask()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["connection"], "close");
    assert_eq!(get_of(&replica, "/healthz").await.0, StatusCode::OK);
    assert_eq!(
        get_of(&replica, "/api/v1/products/1").await.0,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_status_adds_up() {
    let replica = replica(None).await;
    for path in ["1", "1", "2", "1", "2"] {
        get_of(&replica, &format!("/api/v1/products/{path}")).await;
    }
    let (_, status) = get_of(&replica, "/api/v1/products/cache/status").await;
    let number = |name: &str| status[name].as_u64().unwrap();
    assert_eq!(number("requests"), 5);
    assert_eq!((number("hits"), number("misses")), (3, 2));
    assert_eq!((number("led"), number("followed")), (2, 0));
    assert_eq!((number("reads"), number("not_found")), (2, 2));
}

#[tokio::test]
async fn a_method_that_is_not_there_is_no_product_read() {
    let replica = replica(None).await;
    replica.limiter.set_limit(crate::limiter::Limit {
        limit: 1,
        window_ms: 10_000,
    });
    let ask = |method: Method| Request::builder().method(method).uri("/api/v1/products/1");
    for (method, status, asked) in [
        (Method::DELETE, StatusCode::METHOD_NOT_ALLOWED, 0),
        (Method::POST, StatusCode::METHOD_NOT_ALLOWED, 0),
        (Method::GET, StatusCode::OK, 1),
    ] {
        let request = ask(method).body(Body::empty()).unwrap();
        let (answered, ..) = send(&replica, request).await;
        // Its Redis is not there, so whoever is counted is let through.
        let decided = replica.limiter.decisions().failed_open;
        assert_eq!((answered, decided), (status, asked));
    }
}

#[tokio::test]
async fn a_method_that_nobody_knows_is_no_series() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let replica = replica(None).await;
    let invented = Method::from_bytes(b"INVENTED").unwrap();
    for (method, path) in [(invented, "/healthz"), (Method::GET, "/invented")] {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::empty()).unwrap();
        let guard = metrics::set_default_local_recorder(&recorder);
        send(&replica, request).await;
        drop(guard);
    }
    let page = handle.render();
    assert!(
        page.contains(r#"http_requests_total{method="other",route="/healthz",status="405"} 1"#),
        "{page}"
    );
    assert!(!page.to_lowercase().contains("invented"), "{page}");
}
