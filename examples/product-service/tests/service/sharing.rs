//! Replicas share their reads, and see each other's writes.

use reqwest::StatusCode;
use serde_json::Value;

use crate::fleet::{Fleet, eventually, product};

const LAMP: &str = "/api/v1/products/1";
const MISSING: &str = "/api/v1/products/999999";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_callers_of_three_replicas_are_one_read() {
    let fleet = Fleet::of(3, &[("DATABASE_DELAY", "100ms")]).await;
    let (statuses, _) = fleet.burst(300, LAMP).await;
    assert_eq!(statuses, [(200, 300)].into());
    assert_eq!(fleet.sum("reads").await, 1);
    assert_eq!(fleet.sum("requests").await, 300);
    fleet.adds_up().await;
    // And once it is there, nobody asks the database.
    let hits = fleet.sum("hits").await;
    let (statuses, _) = fleet.burst(300, LAMP).await;
    assert_eq!(statuses, [(200, 300)].into());
    assert_eq!(fleet.sum("hits").await, hits + 300);
    assert_eq!(fleet.sum("reads").await, 1);
    assert_eq!(fleet.redis.immortal_keys(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_callers_of_no_product_are_one_read() {
    let fleet = Fleet::of(3, &[("DATABASE_DELAY", "100ms")]).await;
    let (statuses, _) = fleet.burst(300, MISSING).await;
    assert_eq!(statuses, [(404, 300)].into());
    assert_eq!(fleet.sum("reads").await, 1);
    assert_eq!(fleet.sum("not_found").await, 300);
    fleet.adds_up().await;
}

/// The read outlives the lease of its lock, which is renewed while it runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_is_longer_than_its_lock_is_still_the_only_one() {
    let clocks = [("PENDING_TTL", "1s"), ("DATABASE_DELAY", "3s")];
    let fleet = Fleet::of(3, &clocks).await;
    let (statuses, _) = fleet.burst(60, LAMP).await;
    assert_eq!(statuses, [(200, 60)].into());
    assert_eq!(fleet.sum("reads").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_write_every_replica_reads_the_new_row_also_while_the_old_one_is_on_its_way() {
    let fleet = Fleet::of(3, &[("DATABASE_DELAY", "500ms")]).await;
    for id in 1.. {
        let path = format!("/api/v1/products/{id}");
        let reads = fleet.sum("reads").await;
        let old = tokio::spawn(fleet.asking(0, &path));
        fleet.has_read(reads + 1).await;
        let written = fleet.client.put(fleet.replicas[1].url(&path));
        let written = written.json(&product("Torch")).send().await.unwrap();
        assert_eq!(written.status(), StatusCode::OK);
        reads_everywhere(&fleet, &path, "Torch").await;
        let old: Value = old.await.unwrap().json().await.unwrap();
        // The old row came home, and is nobody's answer any more.
        reads_everywhere(&fleet, &path, "Torch").await;
        if old["name"] != "Torch" {
            assert_eq!(fleet.sum("reads").await, reads + 2);
            return;
        }
        // The write was too quick: there was no old row to overtake. Once more with another product.
    }
}

async fn reads_everywhere(fleet: &Fleet, path: &str, name: &str) {
    for replica in [0, 1, 2] {
        let read: Value = fleet.get(replica, path).await.json().await.unwrap();
        assert_eq!(read["name"], name, "replica {replica}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_leaves_the_counters_in_balance() {
    let fleet = Fleet::of(1, &[("DATABASE_DELAY", "300ms")]).await;
    let gone = tokio::spawn(fleet.asking(0, LAMP));
    fleet.has_read(1).await;
    gone.abort();
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
    assert_eq!(fleet.sum("reads").await, 1);
    eventually("the call has ended", async || {
        fleet.sum("requests").await == 2
    })
    .await;
    fleet.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_while_it_waits_has_neither_led_nor_followed() {
    let fleet = Fleet::of(1, &[("DATABASE_DELAY", "60s")]).await;
    let leads = tokio::spawn(fleet.asking(0, LAMP));
    fleet.has_read(1).await;
    let gone = tokio::spawn(fleet.asking(0, LAMP));
    eventually("another waits for it", async || {
        fleet.sum("requests").await == 2
    })
    .await;
    gone.abort();
    leads.abort();
    eventually("both have gone", async || fleet.sum("cancelled").await == 2).await;
    assert_eq!(fleet.sum("misses").await, 2);
    assert_eq!(fleet.sum("led").await, 1);
    assert_eq!(fleet.sum("followed").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_stands_on_the_page_for_prometheus() {
    let fleet = Fleet::of(1, &[("RATE_LIMIT", "2")]).await;
    for _ in 0..3 {
        fleet.get(0, LAMP).await;
    }
    assert_eq!(
        fleet.get(0, MISSING).await.status(),
        StatusCode::TOO_MANY_REQUESTS
    );
    let page = fleet.get(0, "/metrics").await.text().await.unwrap();
    for line in [
        r#"http_requests_total{method="GET",route="/api/v1/products/{id}",status="200"} "#,
        r#"http_request_duration_seconds_bucket{route="/api/v1/products/{id}",le="0.1"} "#,
        "product_database_reads_total ",
        "product_database_read_seconds_bucket{le=",
        r#"product_limiter_total{decision="allowed"} "#,
        r#"product_limiter_total{decision="rejected"} "#,
        r#"coalesce_calls_total{namespace="products",outcome="led"} "#,
        "process_resident_memory_bytes ",
    ] {
        assert!(
            page.lines().any(|found| found.starts_with(line)),
            "{line}\n{page}"
        );
    }
    assert!(!page.contains("/999999"), "a product's number is no label");
}
