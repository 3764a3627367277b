//! What the operators' page says is counted: an exporter shows each of these facts when it happens, and not before.

use std::sync::Arc;

use coalesce_rig::{RedisServer, eventually};
use coalesce_runtime::Coalescer;
use tokio::sync::{Mutex, MutexGuard, Notify};
use tokio::task::JoinHandle;

use crate::recorder::scrape;
use crate::scene::{SECOND, soon};

/// What stands behind a name and its labels; nothing where it is not shown.
fn shown(series: &str) -> Option<u64> {
    let text = scrape().render();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.and_then(|number| number.trim().parse().ok())
}

/// A coalescer that is told of, and its server. There is one at a time: gauges have no namespace.
async fn pod() -> (MutexGuard<'static, ()>, RedisServer, Coalescer) {
    static ALONE: Mutex<()> = Mutex::const_new(());
    let alone = ALONE.lock().await;
    scrape();
    let server = RedisServer::start();
    let builder = Coalescer::builder().redis(server.url()).metrics();
    let pod = builder.operation_deadline(SECOND / 2);
    (alone, server, pod.build().await.unwrap())
}

/// A call whose body has begun, and ends when it is told to.
async fn begun(pod: &Coalescer, namespace: &'static str) -> (JoinHandle<u8>, Arc<Notify>) {
    let (begins, ends) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begun, end) = (Arc::clone(&begins), Arc::clone(&ends));
    let call = pod.call(namespace).key(1);
    let call = tokio::spawn(call.run(move || async move {
        begins.notify_one();
        ends.notified().await;
        7
    }));
    begun.notified().await;
    (call, end)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_another_has_is_counted_once() {
    let (_alone, server, pod) = pod().await;
    let series = r#"coalesce_leases_lost_total{namespace="lost"}"#;
    let (call, end) = begun(&pod, "lost").await;
    assert_eq!(shown(series), Some(0));
    let another = "ab".repeat(16);
    let taken = ["SET", "coalesce:lock:{lost:1}", &another, "PX", "60000"];
    assert_eq!(server.ask(&taken), "OK");
    soon("its loss is noticed", async || shown(series) == Some(1)).await;
    let beats = server.calls("evalsha");
    soon("another beat has passed", async || {
        server.calls("evalsha") > beats + 1
    })
    .await;
    end.notify_one();
    assert_eq!(call.await.unwrap(), 7);
    assert_eq!(shown(series), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_redis_will_not_store_is_counted_as_refused() {
    let (_alone, server, pod) = pod().await;
    let series = r#"coalesce_faults_total{namespace="stored",kind="refused"}"#;
    let (call, end) = begun(&pod, "stored").await;
    assert_eq!(shown(series), Some(0));
    server.ask(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    end.notify_one();
    assert_eq!(call.await.unwrap(), 7);
    eventually("its refusal is counted", || shown(series) > Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_told_nothing_shows_it() {
    let (_alone, server, pod) = pod().await;
    let series = "coalesce_subscribed ";
    soon("it is told", async || shown(series) == Some(1)).await;
    server.ask(&["ACL", "SETUSER", "default", "resetchannels"]);
    server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    soon("it is told nothing", async || shown(series) == Some(0)).await;
    drop(pod);
}
