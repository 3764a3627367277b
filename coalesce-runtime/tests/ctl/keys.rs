//! `inspect` and `invalidate`: one key, what is stored for it, and who computes it.

use std::time::Duration;

use coalesce_rig::RedisServer;

use crate::scene::{MS, ctl, eventually, price, process};

const KEY: [&str; 2] = ["shop::price", "acme:7"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_value_is_shown_without_its_payload_unless_asked() {
    let server = RedisServer::start();
    let _process = process(&server).await;
    let said = ctl(&server, &["inspect", KEY[0], KEY[1], "--json"]).await;
    let shown = said.json();
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        (&shown["state"]["status"], &shown["flight"]),
        (&"done".into(), &().into())
    );
    assert_eq!(shown["state"]["payload_bytes"], 1);
    assert_eq!(shown["state"].get("payload"), None);
    assert!(shown["state"]["age_seconds"].as_f64().unwrap() < 60.0);
    assert!(shown["state"]["life_left_seconds"].as_f64().unwrap() <= 60.0);
    let said = ctl(&server, &["inspect", KEY[0], KEY[1], "--payload", "--json"]).await;
    assert_eq!(said.json()["state"]["payload"], 7);
    let nothing = ctl(&server, &["inspect", KEY[0], "acme:8"]).await;
    assert!(
        nothing.code == 0 && nothing.text.contains("nothing is stored"),
        "{nothing:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalidated_value_is_computed_again_and_a_flight_is_fenced() {
    let server = RedisServer::start();
    let coalescer = process(&server).await;
    let said = ctl(&server, &["invalidate", KEY[0], KEY[1]]).await;
    assert_eq!(said.code, 0, "{said:?}");
    let running = coalescer.clone();
    let flight = tokio::spawn(async move { price(&running, 8, Duration::from_secs(4)).await });
    eventually("the body runs", || {
        let lock = server.command(&["EXISTS", "coalesce:lock:{shop::price:acme:7}"]);
        lock.number() == 1
    })
    .await;
    let said = ctl(&server, &["inspect", KEY[0], KEY[1], "--json"]).await;
    let flying = said.json();
    assert_eq!(flying["state"]["status"], "invalidated");
    let left = flying["flight"]["lease_left_seconds"].as_f64().unwrap();
    assert!(left > 0.0 && left <= 3.0, "{left}");
    let said = ctl(&server, &["invalidate", KEY[0], KEY[1], "--json"]).await;
    assert_eq!(
        (said.code, said.json()["fenced"].as_bool()),
        (0, Some(true))
    );
    assert_eq!(flight.await.unwrap(), 8, "its own caller gets it");
    assert_eq!(price(&coalescer, 9, MS).await, 9, "and nobody else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_or_cannot_be_read_is_a_finding() {
    let server = RedisServer::start();
    // The mark that the first one leaves is nothing either.
    for _ in 0..2 {
        let said = ctl(&server, &["invalidate", KEY[0], KEY[1], "--json"]).await;
        assert_eq!(
            (said.code, said.json()["was_stored"].as_bool()),
            (1, Some(false))
        );
    }
    server.command(&[
        "SET",
        "coalesce:state:{shop::price:acme:9}",
        "garbage",
        "PX",
        "60000",
    ]);
    let said = ctl(&server, &["inspect", KEY[0], "acme:9", "--json"]).await;
    assert_eq!(
        (said.code, &said.json()["state"]["status"]),
        (1, &"unreadable".into())
    );
    assert!(!said.text.contains("garbage"));
}
