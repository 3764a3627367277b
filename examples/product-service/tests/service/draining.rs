//! A replica that is told to end hands over what it has, and no client sees it go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};

use crate::fleet::{Fleet, eventually, product};
use crate::postgres::Postgres;

const LAMP: &str = "/api/v1/products/1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_being_answered_is_answered_to_the_end() {
    let mut fleet = Fleet::of(1, &[("DATABASE_DELAY", "1s"), ("DRAIN_DELAY", "300ms")]).await;
    let answer = tokio::spawn(fleet.asking(0, LAMP));
    fleet.has_read(1).await;
    fleet.replicas[0].tell_to_end();
    eventually("the proxy can know", async || {
        fleet.get(0, "/readyz").await.status() == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    // The proxy does not know yet, and sends more.
    let late = fleet.get(0, "/api/v1/products/2").await;
    assert_eq!(late.status(), StatusCode::OK);
    assert_eq!(late.headers()["connection"], "close");
    assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
    let serving = fleet.replicas.remove(0).serving;
    assert!(serving.await.unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_does_not_end_in_time_is_handed_over_at_once() {
    let variables = [
        ("DATABASE_DELAY", "3s"),
        ("DRAIN_TIMEOUT", "100ms"),
        ("PENDING_TTL", "60s"),
    ];
    let mut fleet = Fleet::of(2, &variables).await;
    let begun = Instant::now();
    let leads = fleet.replicas[0].url(LAMP);
    let leads = tokio::spawn(fleet.client.get(leads).send());
    let follows = fleet.follower_of_the_read(LAMP).await;
    fleet.replicas[0].tell_to_end();
    // Its lock would have lived for a minute.
    assert_eq!(follows.await.unwrap().status(), StatusCode::OK);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(fleet.replicas[1].shared.faults.reads(), 1);
    drop(leads);
}

/// Each write of a product takes half a second.
const SLOW_WRITES: &str = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql \
    AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$; \
    CREATE TRIGGER wait BEFORE UPDATE ON products FOR EACH ROW EXECUTE FUNCTION wait()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_client_has_gone_tells_the_others_before_its_replica_ends() {
    let postgres = Postgres::shared();
    let url = postgres.new_database().await;
    let variables = [("FRESH_TTL", "60s"), ("DRAIN_DELAY", "0ms")];
    let mut fleet = Fleet::with(2, &variables, Arc::clone(&postgres), url.clone()).await;
    let mut database = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(SLOW_WRITES)
        .execute(&mut database)
        .await
        .unwrap();
    assert_eq!(fleet.get(1, LAMP).await.status(), StatusCode::OK);
    let written = fleet.client.put(fleet.replicas[0].url(LAMP));
    let gone = tokio::spawn(written.json(&product("Torch")).send());
    eventually("it is being written", async || {
        let writes = "SELECT count(*) FROM pg_stat_activity \
            WHERE datname = current_database() AND wait_event = 'PgSleep'";
        let writes: i64 = sqlx::query_scalar(writes)
            .fetch_one(&mut database)
            .await
            .unwrap();
        writes == 1
    })
    .await;
    gone.abort();
    fleet.replicas[0].tell_to_end();
    let serving = fleet.replicas.remove(0).serving;
    assert!(serving.await.unwrap().is_ok());
    let read: Value = fleet.get(0, LAMP).await.json().await.unwrap();
    let row = "SELECT name FROM products WHERE id = 1";
    let row: String = sqlx::query_scalar(row)
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(read["name"], row);
}
