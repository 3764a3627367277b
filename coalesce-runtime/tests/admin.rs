//! The admin router over HTTP: every form of every request, and who may ask.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use coalesce_runtime::admin::{AdminAccess, router};
use coalesce_runtime::{Clocks, Coalescer, Policy, Scope};
use serde_json::{Value, json};

const TOKEN: &str = "a token of this test alone";

/// A process with one namespace that has been called, and where its router is.
async fn served(access: AdminAccess) -> (Coalescer, SocketAddr) {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    let address = serve(&coalescer, access).await;
    assert_eq!(price(&coalescer, 7).await, 7);
    (coalescer, address)
}

async fn serve(coalescer: &Coalescer, access: AdminAccess) -> SocketAddr {
    let app = Router::new().nest("/coalesce", router(coalescer.clone(), access));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Retained for a minute.
async fn price(coalescer: &Coalescer, value: u64) -> u64 {
    let minute = Duration::from_mins(1);
    let clocks = Clocks::new(minute, None, minute / 2, Some(minute)).unwrap();
    let policy = Arc::new(Policy::new(clocks));
    let call = coalescer.call("shop::price").key(7).policy(policy);
    call.run(move || async move { value }).await
}

/// One request. The body of an answer that is not JSON is a text.
async fn ask(
    (address, token): (SocketAddr, Option<&str>),
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let url = format!("http://{address}/coalesce{path}");
    let mut request = http::Request::builder().method(method).uri(url);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.header("content-type", "application/json");
    let request = request.body(body.map(|body| body.to_string()).unwrap_or_default());
    let request = request.unwrap();
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build();
    let asked = tokio::task::spawn_blocking(move || {
        let mut response = ureq::Agent::new_with_config(config).run(request).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    });
    let (status, text) = asked.await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, body)
}

#[tokio::test]
async fn nobody_is_answered_without_the_token_and_the_page_holds_nothing() {
    let (coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    let wish = || Some(json!({ "on": false }));
    let requests = [
        ("GET", "/snapshot", None),
        ("GET", "/health", None),
        ("GET", "/call-sites", None),
        ("GET", "/switch", None),
        ("PUT", "/switch", wish()),
        ("PUT", "/switch/shop::price", wish()),
        ("DELETE", "/switch", None),
        ("DELETE", "/switch/shop::price", None),
        (
            "POST",
            "/invalidate",
            Some(json!({ "namespace": "shop::price", "key": "7" })),
        ),
    ];
    for (method, path, body) in requests {
        let (status, _) = ask((address, None), method, path, body.clone()).await;
        assert_eq!(status, 401, "{method} {path}");
        let almost = &TOKEN[..TOKEN.len() - 1];
        let (status, _) = ask((address, Some(almost)), method, path, body).await;
        assert_eq!(status, 403, "{method} {path}");
    }
    assert_eq!(coalescer.positions().0, None);
    assert_eq!(price(&coalescer, 8).await, 7, "nothing was invalidated");
    let (status, page) = ask((address, None), "GET", "", None).await;
    assert_eq!(status, 200);
    let page = page.as_str().unwrap();
    assert!(page.starts_with("<!doctype html>") && !page.contains("shop::price"));
    assert!(
        !page.contains("innerHTML") && !page.contains("src="),
        "nothing of others becomes markup"
    );
}

#[test]
fn a_token_that_anybody_could_guess_is_none() {
    for short in ["", "admin", "fifteen bytes.."] {
        assert!(AdminAccess::token(short).is_err(), "{short}");
    }
    let access = AdminAccess::token("sixteen bytes...").unwrap();
    assert!(!format!("{access:?}").contains("sixteen"));
}

#[tokio::test]
async fn snapshot_health_and_call_sites_are_json() {
    let (_coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    let at = (address, Some(TOKEN));
    let (status, snapshot) = ask(at, "GET", "/snapshot", None).await;
    assert_eq!(status, 200);
    assert_eq!(snapshot["namespaces"]["shop::price"]["outcomes"]["led"], 1);
    let (status, health) = ask(at, "GET", "/health", None).await;
    assert_eq!((status, &health["backend"]), (200, &json!("memory")));
    assert_eq!(
        (&health["breaker"], &health["in_flight"]),
        (&json!("closed"), &json!(0))
    );
    let (status, sites) = ask(at, "GET", "/call-sites", None).await;
    assert_eq!(
        (status, sites),
        (200, json!([])),
        "nothing is annotated here"
    );
}

#[tokio::test]
async fn the_switch_is_read_turned_and_cleared_for_everything_and_for_a_namespace() {
    let (coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    let at = (address, Some(TOKEN));
    let (status, state) = ask(at, "GET", "/switch", None).await;
    assert_eq!((status, &state["everything"]), (200, &Value::Null));

    let wish =
        json!({ "on": false, "for_seconds": 600, "author": "ada", "reason": "slow: <b>100 %</b>" });
    let (status, turned) = ask(at, "PUT", "/switch/shop::price", Some(wish.clone())).await;
    assert_eq!((status, &turned["known"]), (200, &json!(true)));
    let (_, state) = ask(at, "GET", "/switch", None).await;
    let stands = &state["namespaces"]["shop::price"];
    assert_eq!(
        (&stands["on"], &stands["author"]),
        (&json!(false), &json!("ada"))
    );
    assert_eq!(stands["reason"], "slow: <b>100 %</b>");
    let left = stands["seconds_left"].as_f64().unwrap();
    assert!((500.0..=600.0).contains(&left), "{left}");
    assert_eq!(price(&coalescer, 8).await, 8, "it is off");

    let (status, _) = ask(at, "DELETE", "/switch/shop::price", None).await;
    assert_eq!(status, 200);
    assert_eq!(price(&coalescer, 8).await, 7, "it is on");
    let (status, _) = ask(at, "DELETE", "/switch/shop::price", None).await;
    assert_eq!(status, 404, "there is no position any more");

    let (status, _) = ask(at, "PUT", "/switch", Some(json!({ "on": false }))).await;
    assert_eq!(status, 200);
    assert!(
        coalescer
            .position(&Scope::Everything)
            .is_some_and(|it| !it.on && it.until.is_none())
    );
    let (status, _) = ask(at, "DELETE", "/switch", None).await;
    assert_eq!(
        (status, coalescer.position(&Scope::Everything)),
        (200, None)
    );
}

#[tokio::test]
async fn a_namespace_that_nobody_has_is_refused_unless_it_is_meant() {
    let (coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    let at = (address, Some(TOKEN));
    let wish = || Some(json!({ "on": false }));
    let (status, _) = ask(at, "PUT", "/switch/shop::prize", wish()).await;
    assert_eq!((status, coalescer.positions().1.len()), (404, 0));
    let (status, turned) = ask(at, "PUT", "/switch/shop::prize?force=true", wish()).await;
    assert_eq!((status, &turned["known"]), (200, &json!(false)));
    assert_eq!(coalescer.positions().1.len(), 1);
}

#[tokio::test]
async fn a_wish_that_makes_no_sense_changes_nothing() {
    let (coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    let at = (address, Some(TOKEN));
    let wishes = [
        json!({}),
        json!({ "on": "no" }),
        json!({ "on": false, "for": 5 }),
        json!({ "on": false, "for_seconds": 0 }),
        json!({ "on": false, "for_seconds": -1 }),
        json!({ "on": false, "for_seconds": 1e300 }),
    ];
    for wish in wishes {
        let (status, _) = ask(at, "PUT", "/switch", Some(wish.clone())).await;
        assert_eq!(status, 422, "{wish}");
    }
    assert_eq!(coalescer.positions().0, None);
    let spaced = json!({ "namespace": "shop::price", "key": "two words" });
    assert_eq!(ask(at, "POST", "/invalidate", Some(spaced)).await.0, 422);
}

#[tokio::test]
async fn an_entry_is_invalidated_by_namespace_and_key() {
    let (coalescer, address) = served(AdminAccess::token(TOKEN).unwrap()).await;
    assert_eq!(price(&coalescer, 8).await, 7);
    let at = (address, Some(TOKEN));
    let nothing = json!({ "was_stored": false, "fenced": false });
    for misspelt in [
        json!({ "namespace": "shop::prize", "key": "7" }),
        json!({ "namespace": "shop::price", "key": "7", "version": 2 }),
    ] {
        let (status, answer) = ask(at, "POST", "/invalidate", Some(misspelt)).await;
        assert_eq!((status, &answer), (200, &nothing));
    }
    assert_eq!(price(&coalescer, 8).await, 7);
    let stale = json!({ "namespace": "shop::price", "key": "7" });
    let (status, answer) = ask(at, "POST", "/invalidate", Some(stale)).await;
    let removed = json!({ "was_stored": true, "fenced": false });
    assert_eq!((status, answer), (200, removed));
    // What stands there now is the mark of the first one.
    let again = json!({ "namespace": "shop::price", "key": "7" });
    let (status, answer) = ask(at, "POST", "/invalidate", Some(again)).await;
    assert_eq!((status, answer), (200, nothing));
    assert_eq!(price(&coalescer, 8).await, 8);
}

#[tokio::test]
async fn without_a_redis_what_changes_something_says_so_and_the_rest_is_answered() {
    // Port 1 is nobody's.
    let builder = Coalescer::builder().redis("redis://127.0.0.1:1");
    let coalescer = builder.build().await.unwrap();
    let address = serve(&coalescer, AdminAccess::token(TOKEN).unwrap()).await;
    let at = (address, Some(TOKEN));
    assert_eq!(price(&coalescer, 8).await, 8);
    let wish = || Some(json!({ "on": false }));
    let stale = json!({ "namespace": "shop::price", "key": "7" });
    for (method, path, body) in [
        ("PUT", "/switch", wish()),
        ("PUT", "/switch/shop::price", wish()),
        ("PUT", "/switch/of::another::process", wish()),
        ("DELETE", "/switch", None),
        ("DELETE", "/switch/shop::price", None),
        ("POST", "/invalidate", Some(stale)),
    ] {
        let (status, said) = ask(at, method, path, body).await;
        assert_eq!(status, 503, "{method} {path} {said}");
        let why = said["error"].as_str().unwrap();
        assert!(why.starts_with("no usable answer"), "{why}");
    }
    let (status, health) = ask(at, "GET", "/health", None).await;
    assert_eq!((status, &health["connected"]), (200, &json!(false)));
    let kind = health["last_fault"]["kind"].as_str().unwrap();
    assert!(["disconnected", "paused"].contains(&kind), "{kind}");
    for path in ["/snapshot", "/switch", "/call-sites"] {
        assert_eq!(ask(at, "GET", path, None).await.0, 200, "{path}");
    }
}

#[tokio::test]
async fn an_inner_listener_asks_nobody_for_a_token_and_answers_no_page_of_another_site() {
    let (_coalescer, address) = served(AdminAccess::inner_listener()).await;
    assert_eq!(ask((address, None), "GET", "/health", None).await.0, 200);
    let here = address.to_string();
    for site in ["cross-site", "same-site"] {
        assert_eq!(
            clear(address, &here, &[("sec-fetch-site", site)]).await,
            403
        );
    }
    assert_eq!(
        clear(address, &here, &[("sec-fetch-site", "same-origin")]).await,
        404,
        "let through: there is no position"
    );
    for origin in ["http://shop.example", "http://127.0.0.1:1", "null"] {
        assert_eq!(clear(address, &here, &[("origin", origin)]).await, 403);
    }
    let own = format!("http://{here}");
    assert_eq!(clear(address, &here, &[("origin", &own)]).await, 404);
}

/// Whoever owns a name can let it point here: then the script of his page is one of this site to a browser.
#[tokio::test]
async fn an_inner_listener_is_asked_by_its_address_or_by_a_name_that_it_was_given() {
    let (coalescer, address) = served(AdminAccess::inner_listener()).await;
    for host in ["localhost", "LocalHost:8080", "10.0.0.7:9000", "[::1]:9000"] {
        assert_eq!(clear(address, host, &[]).await, 404, "{host}");
    }
    let foreign = ["shop.example", "shop.example:80", "127.0.0.1.shop.example"];
    for host in foreign {
        assert_eq!(clear(address, host, &[]).await, 403, "{host}");
        let origin = format!("http://{host}");
        let said = clear(address, host, &[("origin", &origin)]).await;
        assert_eq!(said, 403, "{host}");
    }
    let names = AdminAccess::inner_listener_named(["Pod-3.shop.internal"]);
    let address = serve(&coalescer, names).await;
    for host in ["pod-3.shop.internal:9000", "127.0.0.1"] {
        assert_eq!(clear(address, host, &[]).await, 404, "{host}");
    }
    for host in foreign {
        assert_eq!(clear(address, host, &[]).await, 403, "{host}");
    }
}

/// Takes a position away that is not there: 404 for whom it is answered.
async fn clear(address: SocketAddr, host: &str, headers: &[(&str, &str)]) -> u16 {
    let url = format!("http://{address}/coalesce/switch");
    let mut request = http::Request::delete(url).header("host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent = ureq::Agent::new_with_config(config.build());
    let asked = tokio::task::spawn_blocking(move || agent.run(request).unwrap().status().as_u16());
    asked.await.unwrap()
}
