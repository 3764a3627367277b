//! Health: what a coalescer says of itself while Redis comes and goes.

use coalesce_rig::RedisServer;
use coalesce_runtime::{BreakerState, Coalescer, Fault};

use crate::scene::{MS, SECOND, soon};

const SECRET: &str = "planted-s3cret";

fn call(coalescer: &Coalescer, key: u64, ms: u32) -> tokio::task::JoinHandle<u64> {
    let call = coalescer.call("n").key(key);
    tokio::spawn(call.run(move || async move {
        tokio::time::sleep(ms * MS).await;
        key
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_what_is_in_progress_and_what_has_gone_wrong_and_no_secret() {
    let server = RedisServer::start();
    let pass = format!(">{SECRET}");
    server.ask(&["ACL", "SETUSER", "app", "on", &pass, "~*", "&*", "+@all"]);
    let url = format!("redis://app:{SECRET}@127.0.0.1:{}", server.port());
    let coalescer = Coalescer::builder().redis(url).build().await.unwrap();
    let health = coalescer.health();
    assert_eq!(health.backend, "redis");
    assert!(health.connected && health.subscribed && !health.stopping);
    assert_eq!(health.breaker, BreakerState::Closed);
    assert_eq!(health.last_fault, None);
    assert_eq!((health.in_flight, health.waiters), (0, 0));

    let calls = [(1, 600), (1, 600), (2, 600)].map(|(key, ms)| call(&coalescer, key, ms));
    soon("three callers of two keys wait", async || {
        let health = coalescer.health();
        (health.in_flight, health.waiters) == (2, 3)
    })
    .await;
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(coalescer.health().waiters, 0);

    server.freeze();
    let calls: Vec<_> = (0..8).map(|key| call(&coalescer, key, 0)).collect();
    for call in calls {
        call.await.unwrap();
    }
    let health = coalescer.health();
    assert_eq!(health.breaker, BreakerState::Open);
    let last = health.last_fault.unwrap();
    assert_eq!(last.fault, Fault::Timeout);
    assert!(last.ago < 5 * SECOND, "{last:?}");
    let said = format!("{health:?} {coalescer:?}");
    assert!(!said.contains(SECRET), "{said}");

    server.go_on();
    soon("it is well again", async || {
        call(&coalescer, 1, 0).await.unwrap();
        let health = coalescer.health();
        health.connected && health.subscribed && health.breaker == BreakerState::Closed
    })
    .await;
    assert!(coalescer.health().last_fault.is_some(), "it is remembered");
    coalescer.shutdown(SECOND).await;
    let health = coalescer.health();
    assert!(health.stopping && !health.connected);
}
