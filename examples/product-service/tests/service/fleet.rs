//! A fleet: replicas in this process that share a database and a Redis, and a client that asks them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use coalesce_rig::RedisServer;
use product_service::config::Config;
use product_service::http::Replica as Shared;
use product_service::serve::Started;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::postgres::Postgres;

/// A machine that is busy with other things must not be taken for a dead Redis.
pub(crate) const PATIENT: [(&str, &str); 2] =
    [("REDIS_DEADLINE", "5s"), ("LIMITER_DEADLINE", "5s")];

pub(crate) const TOKEN: &str = "the admin's token";

/// Replicas with what they share.
pub(crate) struct Fleet {
    pub(crate) replicas: Vec<Replica>,
    pub(crate) redis: RedisServer,
    pub(crate) client: Client,
    _postgres: Arc<Postgres>,
}

/// One of them.
pub(crate) struct Replica {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    told: Option<oneshot::Sender<()>>,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

impl Fleet {
    /// So many replicas with these variables.
    pub(crate) async fn of(count: usize, variables: &[(&str, &str)]) -> Self {
        let postgres = Postgres::shared();
        let database_url = postgres.new_database().await;
        Self::with(count, variables, postgres, database_url).await
    }

    /// The same, with a database that is reached by this URL.
    pub(crate) async fn with(
        count: usize,
        variables: &[(&str, &str)],
        postgres: Arc<Postgres>,
        database_url: String,
    ) -> Self {
        let redis = RedisServer::start();
        let mut replicas = Vec::new();
        for at in 0..count {
            let redis_url = redis.url();
            let instance = format!("replica-{at}");
            let mut pairs: BTreeMap<&str, &str> = [
                ("INSTANCE", &*instance),
                ("LISTEN", "127.0.0.1:0"),
                ("DATABASE_URL", &database_url),
                ("REDIS_URL", &redis_url),
                ("ADMIN_TOKEN", TOKEN),
                ("DRAIN_DELAY", "100ms"),
            ]
            .into();
            pairs.extend(PATIENT);
            pairs.extend(variables.iter().copied());
            let config = Config::read(|name| pairs.get(name).map(|value| (*value).to_owned()));
            replicas.push(Replica::start(config.unwrap()).await);
        }
        Self {
            replicas,
            redis,
            client: Client::builder().no_proxy().build().unwrap(),
            _postgres: postgres,
        }
    }

    /// What one replica answers.
    pub(crate) async fn get(&self, replica: usize, path: &str) -> Response {
        self.asking(replica, path).await
    }

    /// The same, for a task of its own.
    pub(crate) fn asking(
        &self,
        replica: usize,
        path: &str,
    ) -> impl Future<Output = Response> + Send + use<> {
        let url = self.replicas[replica].url(path);
        let asked = self.client.get(url).send();
        async { asked.await.unwrap() }
    }

    /// Asks all replicas in turn for this path, all at the same time; how many had which status, and how long
    /// the slowest took.
    pub(crate) async fn burst(&self, count: usize, path: &str) -> (BTreeMap<u16, usize>, Duration) {
        let begun = Instant::now();
        let mut asked = JoinSet::new();
        for at in 0..count {
            let answer = self.asking(at % self.replicas.len(), path);
            asked.spawn(async move { answer.await.status().as_u16() });
        }
        let mut statuses = BTreeMap::new();
        for status in asked.join_all().await {
            *statuses.entry(status).or_default() += 1;
        }
        (statuses, begun.elapsed())
    }

    /// Turns something at every replica.
    pub(crate) async fn admin(&self, path: &str, body: Value) {
        for replica in &self.replicas {
            let asked = self.client.put(replica.url(path)).bearer_auth(TOKEN);
            let answer = asked.json(&body).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
        }
    }

    /// Waits for the first read of all, and has the second replica follow it.
    pub(crate) async fn follower_of_the_read(&self, path: &str) -> JoinHandle<Response> {
        self.has_read(1).await;
        let follows = tokio::spawn(self.asking(1, path));
        let there = &self.replicas[1].shared.coalescer;
        eventually("the other follows", async || there.subscriptions() == 1).await;
        follows
    }

    /// Waits until the replicas have begun so many reads of the database. The last may be in flight.
    pub(crate) async fn has_read(&self, times: u64) {
        eventually("a read is in flight", async || {
            self.sum("reads").await == times
        })
        .await;
    }

    /// A counter of the status, summed over all replicas.
    pub(crate) async fn sum(&self, counter: &str) -> u64 {
        let mut sum = 0;
        for at in 0..self.replicas.len() {
            let status = self.get(at, "/api/v1/products/cache/status").await;
            let status: Value = status.json().await.unwrap();
            sum += status[counter].as_u64().unwrap();
        }
        sum
    }

    /// The three equations of the status.
    pub(crate) async fn adds_up(&self) {
        let (requests, misses) = (self.sum("requests").await, self.sum("misses").await);
        let (hits, led) = (self.sum("hits").await, self.sum("led").await);
        assert_eq!(requests, hits + misses);
        assert_eq!(misses, led + self.sum("followed").await);
        let double_check_hits = self.sum("double_check_hits").await;
        assert_eq!(led, self.sum("reads").await + double_check_hits);
    }
}

impl Replica {
    pub(crate) async fn start(config: Config) -> Self {
        let started = Started::new(config).await.unwrap();
        let (address, shared) = (started.address(), Arc::clone(started.replica()));
        let (told, hears) = oneshot::channel();
        let serving = tokio::spawn(started.serve_until(async {
            // A test that ends tells it as well.
            let _ = hears.await;
        }));
        Self {
            address,
            shared,
            told: Some(told),
            serving,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Tells it to end, which takes a while.
    pub(crate) fn tell_to_end(&mut self) {
        self.told.take().unwrap().send(()).unwrap();
    }
}

/// A product as it is written.
pub(crate) fn product(name: &str) -> Value {
    json!({"name": name, "description": "", "price": "1.50", "stocks": 1, "available": true})
}

/// Waits until a question is answered as it should; there is a limit, and reaching it is a failure.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < end, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
