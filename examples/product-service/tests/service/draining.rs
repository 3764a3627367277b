//! A replica that is told to end hands over what it has, and no client sees it go.

use std::time::{Duration, Instant};

use reqwest::StatusCode;

use crate::fleet::{Fleet, eventually};

const LAMP: &str = "/api/v1/products/1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_being_answered_is_answered_to_the_end() {
    let mut fleet = Fleet::of(1, &[("DATABASE_DELAY", "1s"), ("DRAIN_DELAY", "300ms")]).await;
    let answer = tokio::spawn(fleet.asking(0, LAMP));
    eventually("a read is in flight", async || {
        fleet.sum("reads").await == 1
    })
    .await;
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
