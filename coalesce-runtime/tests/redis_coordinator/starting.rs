//! Starting and ending: URLs, passwords, databases, prefixes, and connections that are gone in the end.

use coalesce_rig::{RedisServer, eventually};
use coalesce_runtime::coordination::Coordinator as _;
use coalesce_runtime::{BreakerState, Fault, RedisCoordinator, RedisSettings, UrlProblem};

use crate::scene::{Coordinated, LEAD, LEAST, SECOND, begin, grant_least, key, soon, token};

#[tokio::test(flavor = "multi_thread")]
async fn there_are_three_connections_and_none_after_closing() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    let health = coordinator.health();
    assert!(health.connected && health.subscribed);
    assert_eq!(health.breaker, BreakerState::Closed);
    assert_eq!(server.clients(), 3);
    let _listener = coordinator.listen(&key(1)).await.unwrap();
    coordinator.close().await.unwrap();
    eventually("no connection is left", || server.clients() == 0);
    assert_eq!(coordinator.read(&key(1)).await, Err(Fault::Disconnected));
    // It is not made again behind anybody's back.
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(server.clients(), 0);
    coordinator.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_it_closes_the_connections_too() {
    let server = RedisServer::start();
    for _ in 0..3 {
        let coordinator = server.usual().await;
        let _listener = coordinator.listen(&key(1)).await.unwrap();
    }
    eventually("no connection is left", || server.clients() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_does_not_wait_for_a_frozen_server() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    server.freeze();
    let asked = std::time::Instant::now();
    coordinator.close().await.unwrap();
    assert!(asked.elapsed() < 5 * SECOND, "{:?}", asked.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn user_password_and_database_are_used() {
    let server = RedisServer::start();
    server.ask(&[
        "ACL", "SETUSER", "app", "on", ">p@ss/w", "~*", "&*", "+@all",
    ]);
    let url = format!("redis://app:p%40ss%2Fw@127.0.0.1:{}/3", server.port());
    let coordinator = RedisCoordinator::connect(RedisSettings::new(url))
        .await
        .unwrap();
    let led = coordinator.begin(&key(1), &begin(token(1))).await;
    assert_eq!(led, Ok(LEAD));
    assert!(server.ask(&["INFO", "keyspace"]).contains("db3:keys=1"));
}

/// The rule that the documentation gives to operators is enough.
#[tokio::test(flavor = "multi_thread")]
async fn the_least_rights_are_enough() {
    let server = RedisServer::start();
    grant_least(&server, false);
    let url = server.url().replace("//", &format!("//{LEAST}"));
    let coordinator = RedisCoordinator::connect(RedisSettings::new(url))
        .await
        .unwrap();
    assert!(coordinator.health().subscribed);
    let _listener = coordinator.listen(&key(1)).await.unwrap();
    crate::oracle::every_answer_is_the_cells(&server, &coordinator, 300).await;
    assert_eq!(coordinator.health().last_fault, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_a_degraded_start_that_is_healed_by_the_right_one() {
    let server = RedisServer::start();
    server.ask(&["ACL", "SETUSER", "app", "on", ">old", "~*", "&*", "+@all"]);
    let url = format!("redis://app:new@127.0.0.1:{}", server.port());
    let coordinator = RedisCoordinator::connect(RedisSettings::new(url))
        .await
        .unwrap();
    let last = coordinator.health().last_fault;
    assert_eq!(last.map(|last| last.fault), Some(Fault::Denied));
    assert!(coordinator.read(&key(1)).await.is_err());
    server.ask(&["ACL", "SETUSER", "app", ">new"]);
    soon("it is let in", async || {
        coordinator.read(&key(1)).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prefixes_share_nothing() {
    let server = RedisServer::start();
    let one = server.usual().await;
    let two = RedisCoordinator::connect(server.settings().prefix("shop"))
        .await
        .unwrap();
    assert_eq!(one.begin(&key(1), &begin(token(1))).await, Ok(LEAD));
    assert_eq!(two.begin(&key(1), &begin(token(2))).await, Ok(LEAD));
}

#[tokio::test]
async fn a_wrong_url_is_said_at_once_and_nothing_of_it_is_shown() {
    let settings = RedisSettings::new("redis://app:hunter2@host:port");
    assert!(!format!("{settings:?}").contains("hunter2"));
    let problem = RedisCoordinator::connect(settings).await.unwrap_err();
    assert_eq!(problem, UrlProblem::Port);
    let server = RedisServer::start();
    let url = format!("redis://:hunter2@127.0.0.1:{}", server.port());
    let coordinator = RedisCoordinator::connect(RedisSettings::new(url))
        .await
        .unwrap();
    assert!(!format!("{coordinator:?}").contains("hunter2"));
}

/// One `#[tokio::test]` after another, and all of them share the process's coordinator.
#[test]
fn a_coordinator_outlives_the_runtime_that_it_was_made_on() {
    let server = RedisServer::start();
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let coordinator = runtime().block_on(server.usual());
    for number in 0..3 {
        runtime().block_on(async {
            let asked = std::time::Instant::now();
            assert_eq!(coordinator.read(&key(number)).await, Ok(None));
            assert_eq!(
                coordinator.begin(&key(number), &begin(token(1))).await,
                Ok(LEAD)
            );
            coordinator.listen(&key(number)).await.unwrap();
            assert!(asked.elapsed() < 2 * SECOND, "{:?}", asked.elapsed());
        });
    }
    runtime().block_on(coordinator.close()).unwrap();
}
