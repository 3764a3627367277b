//! The limiter on a real Redis: exact over replicas, by client, and open when Redis is not there.

use std::time::{Duration, Instant};

use product_service::limiter::{Decision, Limit, Limiter};
use reqwest::StatusCode;
use serde_json::json;

use crate::fleet::Fleet;

const LAMP: &str = "/api/v1/products/1";
const WINDOW: &str = "product-service:limit:all";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_three_hundred_requests_exactly_the_limit_passes_in_all_replicas_together() {
    let fleet = Fleet::of(3, &[("RATE_LIMIT", "100"), ("RATE_WINDOW", "60s")]).await;
    let begun = Instant::now();
    let (statuses, _) = fleet.burst(300, LAMP).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "one window");
    assert_eq!(statuses, [(200, 100), (429, 200)].into());
    // What is rejected costs nothing: the catalog has not heard of it.
    assert_eq!(fleet.sum("requests").await, 100);
    let rejected = fleet.get(0, LAMP).await;
    assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
    let retry_after = rejected.headers()["retry-after"].to_str().unwrap().parse();
    let retry_after: u64 = retry_after.unwrap();
    assert!((1..=60).contains(&retry_after), "{retry_after}");
    let end = begun.elapsed() + Duration::from_secs(retry_after);
    assert!(end >= Duration::from_secs(60), "rounded up: {end:?}");
    // Nothing else is limited.
    assert_eq!(fleet.get(0, "/healthz").await.status(), StatusCode::OK);
    assert_eq!(fleet.redis.immortal_keys(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_seconds_of_retry_after_there_is_a_new_window() {
    let fleet = Fleet::of(1, &[("RATE_LIMIT", "1"), ("RATE_WINDOW", "1500ms")]).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
    let rejected = fleet.get(0, LAMP).await;
    assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
    let retry_after = rejected.headers()["retry-after"].to_str().unwrap().parse();
    tokio::time::sleep(Duration::from_secs(retry_after.unwrap())).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
}

/// The limit of a fixed window: a burst before its end and one behind it, twice as much within one window's time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn around_the_end_of_a_window_twice_the_limit_passes() {
    let fleet = Fleet::of(1, &[("RATE_LIMIT", "5"), ("RATE_WINDOW", "60s")]).await;
    let begun = Instant::now();
    let (before, _) = fleet.burst(6, LAMP).await;
    assert_eq!(before, [(200, 5), (429, 1)].into());
    // Its end, which is up to a minute away.
    assert_eq!(fleet.redis.command(&["PEXPIRE", WINDOW, "0"]).number(), 1);
    let (behind, _) = fleet.burst(6, LAMP).await;
    assert_eq!(behind, [(200, 5), (429, 1)].into());
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_lost_its_end_gets_one() {
    let fleet = Fleet::of(1, &[("RATE_LIMIT", "5")]).await;
    fleet.redis.command(&["SET", WINDOW, "7"]);
    let rejected = fleet.get(0, LAMP).await;
    assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(rejected.headers()["retry-after"], "10");
    assert_eq!(fleet.redis.immortal_keys(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_behind_the_proxy_have_a_window_each_and_nobody_else_can_choose_one() {
    let one_each = [("RATE_LIMIT", "1"), ("RATE_BY", "client")];
    let trusted = [("TRUSTED_PROXY", "127.0.0.1")];
    let believed = [&one_each[..], &trusted].concat();
    for (variables, expected) in [
        (&believed[..], [200, 200, 429]),
        (&one_each, [200, 429, 429]),
    ] {
        let fleet = Fleet::of(1, variables).await;
        let mut statuses = Vec::new();
        for client in ["10.0.0.1", "10.0.0.2", "10.0.0.1"] {
            let asked = fleet.client.get(fleet.replicas[0].url(LAMP));
            let answer = asked.header("X-Real-IP", client).send().await.unwrap();
            statuses.push(answer.status().as_u16());
        }
        assert_eq!(statuses, expected, "{variables:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_limit_counts_from_now_on() {
    let fleet = Fleet::of(1, &[]).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
    let limit = json!({"limit": 1, "window_ms": 60_000});
    fleet.admin("/admin/limit", limit).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
    let rejected = fleet.get(0, LAMP).await;
    assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
    let none = json!({"limit": 0, "window_ms": 60_000});
    fleet.admin("/admin/limit", none).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_holds_nobody_up_and_counts_again_when_it_is_back() {
    let fleet = Fleet::of(1, &[]).await;
    let limit = Limit {
        limit: 100,
        window_ms: 60_000,
    };
    let limiter = Limiter::new(&fleet.redis.url(), limit, Duration::from_millis(150)).unwrap();
    // The first one connects, and loads the script.
    crate::fleet::eventually("it counts", async || {
        limiter.decide(None).await == Decision::Allowed
    })
    .await;
    let before = limiter.decisions().failed_open;
    fleet.redis.freeze();
    let begun = Instant::now();
    assert_eq!(limiter.decide(None).await, Decision::FailedOpen);
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(5 * 200), "{took:?}");
    fleet.redis.go_on();
    crate::fleet::eventually("it counts again", async || {
        limiter.decide(None).await != Decision::FailedOpen
    })
    .await;
    // While it comes back, more of them may meet nobody.
    assert!(limiter.decisions().failed_open > before);
}
