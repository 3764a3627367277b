//! A day of two pods on one Redis: everything that the library does there happens once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, Position, RedisCoordinator, RedisSettings, Scope, coalesce};
use coalesce_rig::RedisServer;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works; where a right is missing, so long is waited in vain.
const PATIENCE: Duration = Duration::from_secs(8);

/// A server, or the only node of a cluster.
pub(crate) fn server(clustered: bool) -> RedisServer {
    if !clustered {
        return RedisServer::start();
    }
    // A bus of its own: the usual one is 10,000 ports above.
    let bus = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = bus.local_addr().unwrap().port().to_string();
    drop(bus);
    let mut options = vec!["--cluster-enabled", "yes", "--cluster-port", &port];
    // A node that has met no other does not know its own address.
    options.extend(["--cluster-announce-ip", "127.0.0.1"]);
    let server = RedisServer::start_with(&options);
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let started = std::time::Instant::now();
    while !server
        .command(&["CLUSTER", "INFO"])
        .text()
        .contains("cluster_state:ok")
    {
        assert!(started.elapsed() < PATIENCE, "the cluster is not complete");
        std::thread::sleep(5 * MS);
    }
    server
}

#[derive(Clone)]
struct Pod {
    coalescer: Coalescer,
    redis: RedisCoordinator,
    runs: Arc<AtomicU32>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Trouble(String);

impl From<coalesce::Error> for Trouble {
    fn from(error: coalesce::Error) -> Self {
        Self(error.to_string())
    }
}

impl Pod {
    async fn start(server: &RedisServer, clustered: bool) -> Self {
        let scheme = if clustered { "redis-cluster" } else { "redis" };
        let url = format!("{scheme}://coalesce:secret@127.0.0.1:{}", server.port());
        let settings = RedisSettings::new(url).deadline(2_000 * MS).linger(50 * MS);
        let redis = RedisCoordinator::connect(settings).await.unwrap();
        let coalescer = Coalescer::builder()
            .coordinator(Arc::new(redis.clone()))
            .lease(600 * MS)
            .build()
            .await
            .unwrap();
        Self {
            coalescer,
            redis,
            runs: Arc::default(),
        }
    }

    /// Long enough for two beats of its leader's heart.
    #[coalesce(key = item, fresh_ttl = "1m", coalescer = self.coalescer, entry = price_entry)]
    async fn price(&self, item: u64) -> Result<u64, Trouble> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        sleep(500 * MS).await;
        Ok(item * 100)
    }

    /// Its first run succeeds and no other does.
    #[coalesce(key = item, fresh_ttl = "1ms", stale_ttl = "1m", coalescer = self.coalescer)]
    async fn stock(&self, item: u64) -> Result<u64, Trouble> {
        match self.runs.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(item),
            _ => Err(Trouble("no stock".to_owned())),
        }
    }

    #[coalesce(key = item, coalescer = self.coalescer)]
    async fn broken(&self, item: u64) -> Result<u64, Trouble> {
        panic!("the body of {item} is meant to panic")
    }
}

/// One day. Says what did not happen.
pub(crate) async fn live(server: &RedisServer, clustered: bool) -> Result<(), String> {
    let (here, there) = (
        Pod::start(server, clustered).await,
        Pod::start(server, clustered).await,
    );
    let lived = async {
        a_flight(&here, &there).await?;
        a_refresh_that_fails(&here).await?;
        a_flight_that_is_abandoned(&here).await?;
        an_invalidation(&here, &there).await?;
        the_switch(&here, &there).await
    };
    let lived = lived.await;
    for pod in [here, there] {
        pod.coalescer.shutdown(1_000 * MS).await;
    }
    lived
}

async fn a_flight(here: &Pod, there: &Pod) -> Result<(), String> {
    let (one, other) = tokio::join!(here.price(7), there.price(7));
    if (one.ok(), other.ok()) != (Some(700), Some(700)) {
        return Err("a flight: another value".to_owned());
    }
    let runs = here.runs.load(Ordering::SeqCst) + there.runs.load(Ordering::SeqCst);
    if runs != 1 {
        let (here, there) = (here.redis.health(), there.redis.health());
        return Err(format!("a flight: {runs} runs, {here:?}, {there:?}"));
    }
    let lost = here.coalescer.counts().fenced + there.coalescer.counts().fenced;
    if lost > 0 {
        return Err("a flight: its lease was not renewed".to_owned());
    }
    soon("nobody listens any more", || {
        here.coalescer.subscriptions() + there.coalescer.subscriptions() == 0
    })
    .await
}

async fn a_refresh_that_fails(here: &Pod) -> Result<(), String> {
    here.runs.store(0, Ordering::SeqCst);
    here.stock(7).await.map_err(|trouble| trouble.0)?;
    sleep(5 * MS).await;
    let stale = here.stock(7).await;
    soon("a refresh has failed", || {
        here.coalescer.counts().refresh_failures == 1
    })
    .await?;
    let again = here.stock(7).await;
    if (stale.ok(), again.ok()) != (Some(7), Some(7)) {
        return Err("a refresh: the value is gone".to_owned());
    }
    Ok(())
}

async fn a_flight_that_is_abandoned(here: &Pod) -> Result<(), String> {
    let pod = here.clone();
    let call = tokio::spawn(async move { pod.broken(7).await.ok() });
    timeout(PATIENCE, call)
        .await
        .map(drop)
        .map_err(|_| "a panic: no end".to_owned())
}

async fn an_invalidation(here: &Pod, there: &Pod) -> Result<(), String> {
    let pod = there.clone();
    let led = there.coalescer.counts().led;
    let flight = tokio::spawn(async move { pod.price(8).await.ok() });
    soon("a flight has begun", || there.coalescer.in_flight() > 0).await?;
    soon("its body runs", || {
        there.coalescer.counts().executions > led
    })
    .await?;
    let invalidated = here.price_entry(8).invalidate().await;
    invalidated.map_err(|error| error.to_string())?;
    if flight.await.ok().flatten() != Some(800) {
        return Err("an invalidation: its flight has no value".to_owned());
    }
    match here.price_entry(8).peek().await {
        Ok(None) => Ok(()),
        other => Err(format!("an invalidation: {:?} is there", other.is_ok())),
    }
}

async fn the_switch(here: &Pod, there: &Pod) -> Result<(), String> {
    // Asked of the fleet, since this process has no such namespace.
    let unknown = Scope::namespace("nobody::has_it");
    let set = here.coalescer.switch(&unknown, &Position::on()).await;
    if set.map_err(|fault| format!("the switch: {fault}"))?.known {
        return Err("the switch: a namespace that nobody has is known".to_owned());
    }
    let set = here
        .coalescer
        .switch(&Scope::Everything, &Position::off())
        .await;
    if !set.map_err(|fault| format!("the switch: {fault}"))?.known {
        return Err("the switch: nobody has everything".to_owned());
    }
    let off = || {
        there
            .coalescer
            .position(&Scope::Everything)
            .is_some_and(|now| !now.on)
    };
    soon("the switch is off there", off).await?;
    let cleared = here.coalescer.clear_switch(&Scope::Everything).await;
    cleared.map_err(|fault| format!("the switch: {fault}"))?;
    soon("it is on again", || {
        there.coalescer.position(&Scope::Everything).is_none()
    })
    .await
}

async fn soon(what: &str, holds: impl Fn() -> bool) -> Result<(), String> {
    let started = Instant::now();
    while !holds() {
        if started.elapsed() > PATIENCE {
            return Err(format!("in vain: {what}"));
        }
        sleep(5 * MS).await;
    }
    Ok(())
}
