//! A private Redis that keeps nothing on disk, and what it has been asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use redis::AsyncConnectionConfig;
use rustix::process::Signal;

use crate::process::{Process, Program, find, free_port, need};

/// Commands that are ours alone.
const OURS: [&str; 3] = ["info", "config|resetstat", "flushall"];

/// The client's own half a second is too short for a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Redis {
    process: Process,
    program: Program,
    logs: PathBuf,
    port: u16,
}

impl Redis {
    pub async fn start(logs: &Path) -> Result<Self> {
        let server = match find("redis-server").or_else(|| find("valkey-server")) {
            Some(server) => server.display().to_string(),
            None => need("redis-server")?,
        };
        let port = free_port()?;
        let program = Program::new("redis", server)
            .arguments(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .arguments(["--save", "", "--appendonly", "no", "--maxmemory-policy"])
            .arguments(["noeviction", "--dir", &logs.display().to_string()])
            .ended_by(Signal::KILL);
        let process = program.start(logs)?;
        let mut redis = Self {
            process,
            program,
            logs: logs.to_owned(),
            port,
        };
        redis.comes_up().await?;
        Ok(redis)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Kills it. Nothing is left of its data.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again at the same port, empty.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = self.program.start(&self.logs)?;
        self.comes_up().await
    }

    /// Forgets everything, so that each key is cold.
    pub async fn forget(&self) -> Result<()> {
        ask(&self.url(), &["FLUSHALL"]).await?;
        Ok(())
    }

    pub async fn forget_counts(&self) -> Result<()> {
        ask(&self.url(), &["CONFIG", "RESETSTAT"]).await?;
        Ok(())
    }

    /// How often each command has been run since the counts were forgotten, by clients and by scripts.
    pub async fn commands(&self) -> Result<BTreeMap<String, u64>> {
        let report = ask(&self.url(), &["INFO", "commandstats"]).await?;
        let report: String = redis::from_redis_value(report)?;
        let counts = report.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        });
        Ok(counts
            .filter(|(name, _)| !OURS.contains(&name.as_str()))
            .collect())
    }

    async fn comes_up(&mut self) -> Result<()> {
        let url = self.url();
        self.process
            .comes_up(async || ask(&url, &["PING"]).await.is_ok())
            .await
    }
}

/// One question on a connection of its own: what is asked must work while the server comes and goes.
async fn ask(url: &str, words: &[&str]) -> Result<redis::Value> {
    let client = redis::Client::open(url)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let mut connection = client
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    let answer = command.query_async(&mut connection).await;
    answer.with_context(|| format!("Redis refuses {}", words[0]))
}
