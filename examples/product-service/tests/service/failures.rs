//! What depends on a broken thing fails soon, together, and no longer than it is broken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coalesce_rig::{Mode, Proxy};
use reqwest::StatusCode;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use url::Url;

use crate::fleet::{Fleet, eventually, product};
use crate::postgres::Postgres;

const LAMP: &str = "/api/v1/products/1";

/// Times of the promises are five times as long here: the machine has other things to do as well.
const SLACK: u32 = 5;

/// The deadlines that count when nothing is said.
const DEADLINES: [(&str, &str); 2] = [("REDIS_DEADLINE", "500ms"), ("LIMITER_DEADLINE", "150ms")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_database_fails_all_who_waited_are_told_together_and_the_next_asks_again() {
    // Long enough for all of them to come while it is under way. Who is not told waits much longer.
    let delay = Duration::from_secs(3);
    let variables = [
        ("DATABASE_DELAY", "3s"),
        ("PENDING_TTL", "60s"),
        ("WAIT_TIMEOUT", "60s"),
    ];
    let fleet = Fleet::of(3, &variables).await;
    fleet
        .admin("/admin/faults", json!({"database_fails": true}))
        .await;
    let (statuses, took) = fleet.burst(60, LAMP).await;
    assert_eq!(statuses, [(503, 60)].into());
    assert_eq!(fleet.sum("reads").await, 1);
    assert_eq!(fleet.sum("followed").await, 59);
    assert_eq!(fleet.sum("waits_timed_out").await, 0);
    // Nobody waited for a second read. How soon they are told, `stack check` measures, with nothing beside it.
    assert!(took < 2 * delay, "{took:?}");
    fleet
        .admin("/admin/faults", json!({"database_fails": false}))
        .await;
    assert_eq!(fleet.get(1, LAMP).await.status(), StatusCode::OK);
    assert_eq!(fleet.sum("reads").await, 2);
    fleet.adds_up().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_hangs_is_503_within_two_seconds_and_the_process_lives() {
    let postgres = Postgres::shared();
    let mut url: Url = postgres.new_database().await.parse().unwrap();
    let proxy = Proxy::before(postgres.port());
    let way: Url = proxy.url().parse().unwrap();
    url.set_port(way.port()).unwrap();
    let fleet = Fleet::with(1, &[], Arc::clone(&postgres), url.into()).await;
    assert_eq!(fleet.get(0, "/readyz").await.status(), StatusCode::OK);
    proxy.set(Mode::Stall);
    let begun = Instant::now();
    let (read, ready, lives) = tokio::join!(
        fleet.get(0, LAMP),
        fleet.get(0, "/readyz"),
        fleet.get(0, "/healthz")
    );
    assert_eq!(read.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(lives.status(), StatusCode::OK);
    let took = begun.elapsed();
    assert!(took < SLACK * Duration::from_secs(2), "{took:?}");
    proxy.set(Mode::Pass);
    eventually("the database answers again", async || {
        fleet.get(0, LAMP).await.status() == StatusCode::OK
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_somebody_locks_out_is_503_and_is_taken_back() {
    let postgres = Postgres::shared();
    let url = postgres.new_database().await;
    let fleet = Fleet::with(1, &[], Arc::clone(&postgres), url.clone()).await;
    let mut somebody = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN; LOCK TABLE products")
        .execute(&mut somebody)
        .await
        .unwrap();
    let begun = Instant::now();
    let read = fleet.get(0, LAMP).await;
    assert_eq!(read.status(), StatusCode::SERVICE_UNAVAILABLE);
    let took = begun.elapsed();
    assert!(took < SLACK * Duration::from_secs(2), "{took:?}");
    eventually("nobody waits for the table any more", async || {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let waiting: i64 = sqlx::query_scalar(waiting)
            .fetch_one(&mut somebody)
            .await
            .unwrap();
        waiting == 0
    })
    .await;
    sqlx::raw_sql("COMMIT")
        .execute(&mut somebody)
        .await
        .unwrap();
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_reads_are_503_and_the_limiter_is_open_until_it_is_back() {
    let mut fleet = Fleet::of(2, &[DEADLINES[0], DEADLINES[1], ("RATE_LIMIT", "1000")]).await;
    assert_eq!(fleet.get(0, LAMP).await.status(), StatusCode::OK);
    fleet.redis.kill();
    let (statuses, took) = fleet.burst(20, LAMP).await;
    assert_eq!(statuses, [(503, 20)].into());
    assert!(took < SLACK * Duration::from_secs(2), "{took:?}");
    let limiter = |at: usize| fleet.replicas[at].shared.limiter.decisions();
    assert_eq!(limiter(0).failed_open + limiter(1).failed_open, 20);
    eventually("nobody is sent here", async || {
        fleet.get(0, "/readyz").await.status() == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    fleet.redis.restart();
    let back = Instant::now();
    for replica in [0, 1] {
        eventually("reads are answered again", async || {
            fleet.get(replica, LAMP).await.status() == StatusCode::OK
        })
        .await;
    }
    assert!(
        back.elapsed() < SLACK * Duration::from_secs(2),
        "{:?}",
        back.elapsed()
    );
    let open = fleet.replicas[0].shared.limiter.decisions().failed_open;
    eventually("the limiter counts again", async || {
        fleet.get(0, LAMP).await;
        fleet.replicas[0].shared.limiter.decisions().failed_open == open
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_is_503_within_two_seconds_also_for_those_who_wait_for_a_read() {
    let variables = [DEADLINES[0], DEADLINES[1], ("DATABASE_DELAY", "60s")];
    let fleet = Fleet::of(2, &variables).await;
    let leads = tokio::spawn(fleet.asking(0, LAMP));
    let follows = fleet.follower_of_the_read(LAMP).await;
    fleet.redis.freeze();
    let begun = Instant::now();
    let (follows, comes) = tokio::join!(follows, fleet.get(1, "/api/v1/products/2"));
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    assert_eq!(
        (follows.unwrap().status(), comes.status()),
        (unavailable, unavailable)
    );
    let took = begun.elapsed();
    assert!(took < SLACK * Duration::from_secs(2), "{took:?}");
    leads.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_cache_could_not_be_told_of_says_so() {
    let mut fleet = Fleet::of(1, &DEADLINES).await;
    fleet.redis.kill();
    let written = fleet.client.put(fleet.replicas[0].url(LAMP));
    let written = written.json(&product("Torch")).send().await.unwrap();
    assert_eq!(written.status(), StatusCode::SERVICE_UNAVAILABLE);
    let said = written.text().await.unwrap();
    assert!(said.contains("write it again"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_is_told_to_goes_on_without_redis() {
    let mut fleet = Fleet::of(
        1,
        &[
            DEADLINES[0],
            ("ON_REDIS_ERROR", "open"),
            ("DATABASE_DELAY", "300ms"),
        ],
    )
    .await;
    fleet.redis.kill();
    let (statuses, _) = fleet.burst(20, LAMP).await;
    assert_eq!(statuses, [(200, 20)].into());
    let reads = fleet.sum("reads").await;
    assert_eq!(fleet.sum("fail_open").await, reads);
    assert!(reads < 20, "once per replica, and not for each: {reads}");
    eventually("it knows that Redis is gone", async || {
        !fleet.replicas[0].shared.coalescer.health().connected
    })
    .await;
    // A replica that serves is not to be taken out of service.
    assert_eq!(fleet.get(0, "/readyz").await.status(), StatusCode::OK);
    fleet.adds_up().await;
}
