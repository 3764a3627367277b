//! One replica of the service: this program again, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Context, Result, bail};
use product_service::http::Status;
use serde_json::{Value, json};

use crate::process::{Process, Program, free_port};

/// Opens the admin routes. They are reached on loopback alone, and end with this program.
const TOKEN: &str = "of-a-stack-on-loopback";

/// What a replica is told by its environment, by name.
pub type Settings = Vec<(String, String)>;

pub struct Replica {
    name: String,
    port: u16,
    process: Process,
    program: Program,
    logs: PathBuf,
    http: reqwest::Client,
}

impl Replica {
    /// Starts it, without waiting for it.
    pub fn start(
        number: usize,
        settings: &Settings,
        logs: &Path,
        http: &reqwest::Client,
    ) -> Result<Self> {
        let name = format!("replica-{number}");
        let port = free_port()?;
        let this = std::env::current_exe()?.display().to_string();
        let mut program = Program::new(&name, this)
            .arguments(["replica"])
            .variable("INSTANCE", &name)
            .variable("LISTEN", format!("127.0.0.1:{port}"))
            .variable("ADMIN_TOKEN", TOKEN)
            // As many as on the machine of the benchmark, wherever this runs.
            .variable("TOKIO_WORKER_THREADS", "2");
        for (name, value) in settings {
            program = program.variable(name, value);
        }
        Ok(Self {
            process: program.start(logs)?,
            name,
            port,
            program,
            logs: logs.to_owned(),
            http: http.clone(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits until it serves.
    pub async fn comes_up(&mut self) -> Result<()> {
        let ready = format!("{}/readyz", self.url());
        self.process.answers_at(&self.http, &ready).await
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Asks it to end, and waits until it has answered what it had begun.
    pub async fn drain(&mut self) -> Option<ExitStatus> {
        self.process.ask_to_end();
        self.process.ended().await
    }

    /// Starts it again at the same port.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = self.program.start(&self.logs)?;
        self.comes_up().await
    }

    /// Its counters.
    pub async fn status(&self) -> Result<Status> {
        let there = format!("{}/api/v1/products/cache/status", self.url());
        let answer = self.http.get(there).send().await?.error_for_status()?;
        Ok(answer.json().await?)
    }

    /// The sum of a metric's series at this moment.
    pub async fn metric(&self, name: &str) -> Result<f64> {
        let text = self
            .http
            .get(format!("{}/metrics", self.url()))
            .send()
            .await?
            .text()
            .await?;
        let series = text.lines().filter_map(|line| line.strip_prefix(name));
        let numbers = series
            .filter(|rest| rest.starts_with(['{', ' ']))
            .filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok());
        Ok(numbers.sum())
    }

    /// Makes its reads of the database slow, or fail.
    pub async fn faults(&self, delay_ms: u64, fails: bool) -> Result<()> {
        self.tell(
            "faults",
            &json!({ "database_delay_ms": delay_ms, "database_fails": fails }),
        )
        .await
    }

    /// How many product reads are admitted in a window; none are rejected with 0.
    pub async fn limit(&self, limit: u64, window_ms: u64) -> Result<()> {
        self.tell("limit", &json!({ "limit": limit, "window_ms": window_ms }))
            .await
    }

    async fn tell(&self, what: &str, body: &Value) -> Result<()> {
        let there = format!("{}/admin/{what}", self.url());
        let asked = self
            .http
            .put(there)
            .bearer_auth(TOKEN)
            .json(body)
            .send()
            .await;
        let answer = asked.with_context(|| format!("{} is not reached", self.name))?;
        if !answer.status().is_success() {
            bail!(
                "{} refuses {what}: {} {}",
                self.name,
                answer.status(),
                answer.text().await?
            );
        }
        Ok(())
    }
}
