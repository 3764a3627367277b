//! What a fresh hit costs beside a bare `GET` of the same bytes, on one private Redis, in one run.
//!
//! `cargo bench -p coalesce-runtime --bench hit` prints both and, last, their ratio: the median of
//! rounds in which the two take turns, so that a machine that changes its speed changes both.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it found")]
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::sync::Arc;
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
        let coalescer = Coalescer::builder()
            .redis(server.url())
            .build()
            .await
            .unwrap();
        let state = format!("coalesce:state:{{{}}}", Key::new("bench", &[&1]).tag());
        let scene = Self {
            coalescer,
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
        bencher.to_async(&runtime).iter(|| scene.get())
    });
    group.bench_function("fresh hit", |bencher| {
        bencher.to_async(&runtime).iter(|| scene.hit())
    });
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
