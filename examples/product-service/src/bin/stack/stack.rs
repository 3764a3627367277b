//! The whole stack: its servers, started in the order of their needs and ended in the opposite one.

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::{join_all, try_join_all};
use product_service::http::Status;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::process::Process;
use crate::servers::{Nginx, Postgres, Prometheus, Redis, Replica, Settings};

const REPLICAS: usize = 3;

/// Dropped from top to bottom: who asks ends before who answers.
pub struct Stack {
    pub prometheus: Prometheus,
    pub nginx: Nginx,
    pub replicas: Vec<Replica>,
    pub postgres: Postgres,
    pub redis: Redis,
    pub http: reqwest::Client,
    _folder: TempDir,
}

impl Stack {
    /// Starts everything. What has been started ends again when something cannot be.
    pub async fn start(set: &Settings, scrape: Duration) -> Result<Self> {
        raise_open_files()?;
        let folder = crate::folder::folder()?;
        let root = folder.path();
        let logs = root.join("logs");
        std::fs::create_dir(&logs)?;
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(60))
            .build()?;

        // One behind the other: while `initdb` runs nobody would hear what Redis answers.
        let redis = Redis::start(&logs).await?;
        let postgres = Postgres::start(root, &logs).await?;
        let mut settings = defaults(&postgres.url(), &redis.url());
        settings.extend(set.iter().cloned());
        let mut replicas = Vec::new();
        for number in 1..=REPLICAS {
            replicas.push(Replica::start(number, &settings, &logs, &http)?);
        }
        try_join_all(replicas.iter_mut().map(Replica::comes_up)).await?;
        let ports: Vec<_> = replicas.iter().map(Replica::port).collect();
        let nginx = Nginx::start(root, &logs, &ports, &http).await?;
        let prometheus = Prometheus::start(root, &logs, &replicas, scrape, &http).await?;
        Ok(Self {
            prometheus,
            nginx,
            replicas,
            postgres,
            redis,
            http,
            _folder: folder,
        })
    }

    pub fn processes(&mut self) -> Vec<&mut Process> {
        let mut all = vec![self.redis.process(), self.postgres.process()];
        all.extend(self.replicas.iter_mut().map(Replica::process));
        all.push(self.nginx.process());
        all.push(self.prometheus.process());
        all
    }

    /// Makes the reads of all replicas slow, or fail.
    pub async fn faults(&self, delay_ms: u64, fails: bool) -> Result<()> {
        try_join_all(
            self.replicas
                .iter()
                .map(|replica| replica.faults(delay_ms, fails)),
        )
        .await?;
        Ok(())
    }

    /// What all replicas together admit in a window; 0 rejects nobody.
    pub async fn limit(&self, limit: u64, window_ms: u64) -> Result<()> {
        try_join_all(
            self.replicas
                .iter()
                .map(|replica| replica.limit(limit, window_ms)),
        )
        .await?;
        Ok(())
    }

    /// The counters of each replica.
    pub async fn statuses(&self) -> Result<Vec<Status>> {
        try_join_all(self.replicas.iter().map(Replica::status)).await
    }

    /// One counter, summed over the replicas.
    pub async fn sum(&self, of: fn(&Status) -> u64) -> Result<u64> {
        Ok(self.statuses().await?.iter().map(of).sum())
    }

    /// How many reads of the database the replicas have begun.
    pub async fn reads_begun(&self) -> Result<u64> {
        self.sum(|status| status.reads).await
    }

    /// Waits until so many calls of the product read are in progress, over those replicas that answer.
    pub async fn calls_in_progress(&self, calls: f64) -> Result<()> {
        for _ in 0..1_500 {
            let asked = self
                .replicas
                .iter()
                .map(|replica| replica.metric("coalesce_calls_in_progress"));
            let now: f64 = join_all(asked).await.into_iter().flatten().sum();
            if now >= calls {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("there were never {calls} calls in progress at once")
    }

    /// As it is before a case: everything up, every key cold, no faults, no limit.
    pub async fn reset(&mut self) -> Result<()> {
        // What a case has ended it starts again, unless it did not come that far.
        if self.redis.process().has_ended().is_some() {
            self.redis.restart().await?;
        }
        if self.postgres.process().has_ended().is_some() {
            self.postgres.restart().await?;
        }
        for replica in &mut self.replicas {
            if replica.process().has_ended().is_some() {
                replica.restart().await?;
            }
        }
        self.faults(0, false).await?;
        self.limit(0, 10_000).await?;
        self.redis.forget().await
    }
}

/// What the replicas are told. Everything else is as it is when nothing is said.
fn defaults(database: &str, redis: &str) -> Settings {
    let pairs = [
        ("DATABASE_URL", database),
        ("REDIS_URL", redis),
        ("TRUSTED_PROXY", "127.0.0.1"),
    ];
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

/// Two thousand requests in progress are that many open files, here and in each child.
fn raise_open_files() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )?;
    Ok(())
}
