//! A private Prometheus with the configuration and the rules that Docker uses, too.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::Replica;
use crate::files;
use crate::process::{Process, Program, free_port, need};

pub struct Prometheus {
    process: Process,
    folder: PathBuf,
    port: u16,
    http: reqwest::Client,
}

/// A rule that raises an alarm.
#[derive(Deserialize)]
pub struct Alarm {
    pub name: String,
    pub query: String,
    pub health: String,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Alarm>,
}

impl Prometheus {
    pub async fn start(
        root: &Path,
        logs: &Path,
        replicas: &[Replica],
        every: Duration,
        http: &reqwest::Client,
    ) -> Result<Self> {
        let folder = root.join("prometheus");
        std::fs::create_dir_all(folder.join("rules"))?;
        let configuration = files::PROMETHEUS.replace(": 5s", &format!(": {}s", every.as_secs()));
        std::fs::write(folder.join("prometheus.yml"), configuration)?;
        std::fs::write(folder.join("rules/coalesce.yml"), files::COALESCE_ALERTS)?;
        std::fs::write(
            folder.join("rules/product-service.yml"),
            files::PRODUCT_ALERTS,
        )?;
        std::fs::write(folder.join("targets.yml"), targets(replicas)?)?;
        let port = free_port()?;
        let mut process = Program::new("prometheus", need("prometheus")?)
            .arguments(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arguments([format!("--web.listen-address=127.0.0.1:{port}")])
            .within(&folder)
            .start(logs)?;
        let there = format!("http://127.0.0.1:{port}/-/ready");
        process.answers_at(http, &there).await?;
        Ok(Self {
            process,
            folder,
            port,
            http: http.clone(),
        })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Where its configuration is, as it was started with.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The numbers that a query has at this moment. Those that are none, as a quantile of nothing, are
    /// left out.
    pub async fn query(&self, query: &str) -> Result<Vec<f64>> {
        let answer = self.ask("query", &[("query", query)]).await?;
        let series = answer["result"].as_array().context("no list of series")?;
        let number = |series: &Value| series["value"][1].as_str()?.parse::<f64>().ok();
        Ok(series
            .iter()
            .filter_map(number)
            .filter(|n| n.is_finite())
            .collect())
    }

    /// Its alarms. Their health is `ok` once their queries have been run.
    pub async fn alarms(&self) -> Result<Vec<Alarm>> {
        let mut answer = self.ask("rules", &[]).await?;
        let groups: Vec<Group> = serde_json::from_value(answer["groups"].take())?;
        Ok(groups.into_iter().flat_map(|group| group.rules).collect())
    }

    async fn ask(&self, what: &str, parameters: &[(&str, &str)]) -> Result<Value> {
        let there = format!("{}/api/v1/{what}", self.url());
        let answer = self.http.get(there).query(parameters).send().await?;
        let mut answer: Value = answer.json().await?;
        if answer["status"] != "success" {
            bail!("Prometheus refuses {parameters:?}: {}", answer["error"]);
        }
        Ok(answer["data"].take())
    }
}

fn targets(replicas: &[Replica]) -> Result<String> {
    let mut text = String::new();
    for replica in replicas {
        let (name, address) = (replica.name(), replica.address());
        writeln!(
            text,
            "- targets: [\"{address}\"]\n  labels: {{ instance: {name} }}"
        )?;
    }
    Ok(text)
}
