//! What a call costs: a fresh hit beside a bare `GET` of the same bytes, a key, a cold leader, a follower.
//!
//! All on one private Redis, in one run. `cargo bench -p coalesce-runtime --bench hit` prints each and,
//! last, the ratio of a hit to a GET: the median of rounds in which the two take turns, so that a
//! machine that changes its speed changes both.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coalesce_rig::RedisServer;
use coalesce_runtime::{Clocks, Coalescer, Key, Policy};
use criterion::Criterion;
use fred::prelude::{Builder, Client, ClientLike, Config, KeysInterface};
use tokio::runtime::Runtime;

const ROUNDS: usize = 41;
const CALLS: u32 = 500;

struct Scene {
    coalescer: Coalescer,
    /// What another process on the same Redis would be.
    other: Coalescer,
    cold: AtomicU64,
    bare: Client,
    state: String,
    policy: Arc<Policy>,
}

impl Scene {
    async fn new(server: &RedisServer) -> Self {
        let minute = Duration::from_secs(60);
        let clocks = Clocks::new(60 * minute, None, minute, Some(2 * minute)).unwrap();
        let config = Config::from_url(&server.url()).unwrap();
        let bare = Builder::from_config(config).build().unwrap();
        bare.init().await.unwrap();
        let other = Coalescer::builder();
        let other = other.redis(server.url()).build().await.unwrap();
        let coalescer = Coalescer::builder()
            .redis(server.url())
            .build()
            .await
            .unwrap();
        let state = format!("coalesce:state:{{{}}}", Key::new("bench", &[&1]).tag());
        let scene = Self {
            coalescer,
            other,
            cold: AtomicU64::new(0),
            bare,
            state,
            policy: Arc::new(Policy::new(clocks)),
        };
        assert_eq!(scene.hit().await.len(), 200);
        assert!(
            scene.get().await.is_some(),
            "the hit and the GET read the same key"
        );
        scene
    }

    async fn hit(&self) -> String {
        let call = self
            .coalescer
            .call("bench")
            .key(1)
            .policy(Arc::clone(&self.policy));
        call.run(|| async { "x".repeat(200) }).await
    }

    /// A call that finds nothing and leads: BEGIN and FINISH.
    async fn lead(&self) -> u64 {
        let key = self.cold.fetch_add(1, Ordering::Relaxed);
        self.coalescer
            .call("cold")
            .key(key)
            .run(|| async { 1 })
            .await
    }

    /// A call that leads and one of another process that follows it, with a body of a millisecond.
    async fn lead_and_follow(&self) -> (u64, u64) {
        let key = self.cold.fetch_add(1, Ordering::Relaxed);
        let body = || async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            1
        };
        let one = self.coalescer.call("cold").key(key).run(body);
        let two = self.other.call("cold").key(key).run(body);
        tokio::join!(one, two)
    }

    async fn get(&self) -> Option<bytes::Bytes> {
        self.bare.get(&self.state).await.unwrap()
    }
}

fn main() {
    let server = RedisServer::start();
    let runtime = Runtime::new().unwrap();
    let scene = runtime.block_on(Scene::new(&server));

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("hit");
    group.bench_function("bare GET", |bencher| {
        bencher.to_async(&runtime).iter(|| scene.get());
    });
    group.bench_function("fresh hit", |bencher| {
        bencher.to_async(&runtime).iter(|| scene.hit());
    });
    group.finish();
    let mut group = criterion.benchmark_group("call");
    group.bench_function("key of two parts", |bencher| {
        bencher.iter(|| Key::new("shop::get_order", &[&"acme", &42_u64]));
    });
    group.bench_function("cold leader, nothing retained", |bencher| {
        bencher.to_async(&runtime).iter(|| scene.lead());
    });
    group.bench_function(
        "leader and follower, body of 1 ms and a timer's step",
        |bencher| {
            bencher.to_async(&runtime).iter(|| scene.lead_and_follow());
        },
    );
    group.finish();
    criterion.final_summary();

    let mut ratios: Vec<f64> = (0..ROUNDS)
        .map(|_| runtime.block_on(round(&scene)))
        .collect();
    ratios.sort_by(f64::total_cmp);
    let (low, median, high) = (ratios[0], ratios[ROUNDS / 2], ratios[ROUNDS - 1]);
    println!(
        "fresh hit / bare GET: median {median:.2} (from {low:.2} to {high:.2}, {ROUNDS} rounds of {CALLS})"
    );
}

/// One round: as many GETs, then as many hits.
async fn round(scene: &Scene) -> f64 {
    let begun = Instant::now();
    for _ in 0..CALLS {
        scene.get().await;
    }
    let bare = begun.elapsed();
    let begun = Instant::now();
    for _ in 0..CALLS {
        scene.hit().await;
    }
    begun.elapsed().as_secs_f64() / bare.as_secs_f64()
}
