//! The product service with everything around it, without Docker: brought up, or held to what its README promises.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal"
)]

mod files;
mod folder;
mod k6;
mod load;
mod process;
mod rows;
mod servers;
mod stack;
mod verdict;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::rows::{CASES, Case};
use crate::stack::Stack;
use crate::verdict::{Row, Verdict, table};

/// Redis, PostgreSQL, three replicas, nginx and Prometheus: private servers on free ports of loopback.
#[derive(Parser)]
#[command(name = "stack")]
struct Stand {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Starts everything, prints the addresses, and ends it at Ctrl-C.
    Up(Told),
    /// Starts everything, plays the acceptance, prints its table, and fails where it does.
    Check(Check),
    /// One replica, as `product-service` is.
    #[command(hide = true)]
    Replica,
}

#[derive(Args)]
struct Told {
    /// What the replicas are told by their environment, as in `--set RATE_LIMIT=100`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

#[derive(Args)]
struct Check {
    #[command(flatten)]
    told: Told,
    /// Only these cases; `--list` names them.
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Names the cases.
    #[arg(long)]
    list: bool,
    /// The k6 scripts as well, where k6 is installed.
    #[arg(long)]
    k6: bool,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is expected")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Children are started from here and not from a task: see [`process::Program::start`].
#[tokio::main]
async fn main() -> ExitCode {
    let done = match Stand::parse().what {
        What::Up(told) => up(&told).await,
        What::Check(check) => check.run().await,
        What::Replica => return product_service::program::main().await,
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("stack: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn up(told: &Told) -> Result<ExitCode> {
    let mut stack = tokio::select! {
        stack = Stack::start(&told.set, Duration::from_secs(5)) => stack?,
        () = asked_to_end() => return Ok(ExitCode::SUCCESS),
    };
    println!("product     {}/api/v1/products/1", stack.nginx.url());
    println!("prometheus  {}/graph", stack.prometheus.url());
    for replica in &stack.replicas {
        println!("{}   {}/metrics", replica.name(), replica.url());
    }
    println!("redis       {}", stack.redis.url());
    println!("postgres    {}", stack.postgres.url());
    println!(
        "\nk6 run -e BASE_URL={} examples/product-service/k6/stampede.js",
        stack.nginx.url()
    );
    println!("Ctrl-C ends all of it.");
    tokio::select! {
        ended = one_ended(&mut stack) => ended?,
        () = asked_to_end() => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails when a server ends by itself.
async fn one_ended(stack: &mut Stack) -> Result<()> {
    loop {
        for process in stack.processes() {
            if let Some(status) = process.has_ended() {
                bail!("{} ended ({status}):\n{}", process.name(), process.tail());
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Ctrl-C, SIGTERM, or the terminal that is closed.
async fn asked_to_end() {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        // Nobody can ask; the children still end with us.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

impl Check {
    async fn run(&self) -> Result<ExitCode> {
        if self.list {
            for case in CASES {
                println!("{:10} {}", case.name, case.what);
            }
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            rows = self.play() => Ok(self.report(&rows?)),
            () = asked_to_end() => bail!("it was ended before it was done"),
        }
    }

    async fn play(&self) -> Result<Vec<Row>> {
        for name in &self.only {
            if !CASES.iter().any(|case| case.name == name) {
                bail!("there is no case {name:?}: `check --list` names them");
            }
        }
        let wanted =
            |case: &&Case| self.only.is_empty() || self.only.iter().any(|name| name == case.name);
        // A machine that is busy with other things must not be taken for a silent Redis: the limit is exact.
        let mut set = vec![("LIMITER_DEADLINE".to_owned(), "1s".to_owned())];
        set.extend(self.told.set.iter().cloned());
        let mut stack = Stack::start(&set, Duration::from_secs(1)).await?;
        let mut rows = Vec::new();
        for case in CASES.iter().filter(wanted) {
            let began = Instant::now();
            let row = case.play(&mut stack).await;
            eprintln!(
                "{:10} {:?}, {:.1} s",
                case.name,
                row.verdict,
                began.elapsed().as_secs_f32()
            );
            rows.push(row);
        }
        if self.k6 {
            rows.extend(k6::run(&mut stack).await?);
        }
        Ok(rows)
    }

    fn report(&self, rows: &[Row]) -> ExitCode {
        let failed = rows
            .iter()
            .filter(|row| row.verdict == Verdict::Failed)
            .count();
        let passed = rows.len() - failed;
        if self.json {
            println!(
                "{}",
                json!({ "passed": passed, "failed": failed, "rows": rows })
            );
        } else {
            println!("{}", table(rows));
            println!(
                "`slow` is above the target by less than five times what it allows: others may use the machine."
            );
            let word = if failed == 0 { "ok" } else { "FAILED" };
            println!("test result: {word}. {passed} passed; {failed} failed");
        }
        ExitCode::from(u8::from(failed > 0))
    }
}
