//! A private PostgreSQL in a folder of its own, and how many reads of products it has run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Signal, geteuid};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection, PgPool};

use crate::process::{Process, Program, free_port, need};

/// PostgreSQL refuses to run as root; its package brings this user.
const USER: &str = "postgres";

pub struct Postgres {
    process: Process,
    program: Program,
    logs: PathBuf,
    port: u16,
    pool: PgPool,
}

impl Postgres {
    pub async fn start(root: &Path, logs: &Path) -> Result<Self> {
        let user = geteuid().is_root().then_some(USER);
        let folder = root.join("postgres");
        std::fs::create_dir(&folder)?;
        if let Some(user) = user {
            let owned = [&format!("{user}:"), &folder.display().to_string()].map(Clone::clone);
            Program::new("chown", "chown").arguments(owned).run()?;
        }
        let data = folder.join("data").display().to_string();
        Program::new("initdb", program("initdb")?)
            .arguments([
                "--pgdata",
                &data,
                "--username",
                "product",
                "--auth",
                "trust",
            ])
            .arguments(["--encoding", "UTF8", "--locale", "C", "--no-sync"])
            .by_user(user)
            .within(&folder)
            .run()?;
        let port = free_port()?;
        let program = Program::new("postgres", program("postgres")?)
            .arguments(["-D", &data, "-p", &port.to_string(), "-h", "127.0.0.1"])
            // Thrown away with its folder, so nothing has to survive a crash of the machine.
            .arguments(["-F", "-c", "unix_socket_directories="])
            // Counts statements at once, where the server's other statistics are seconds late.
            .arguments(["-c", "shared_preload_libraries=pg_stat_statements"])
            .by_user(user)
            .within(&folder)
            .ended_by(Signal::INT);
        let mut process = program.start(logs)?;
        let server = format!("postgres://product@127.0.0.1:{port}");
        let there = format!("{server}/postgres");
        process.comes_up(async || answers(&there).await).await?;
        let mut connection = PgConnection::connect(&there).await?;
        sqlx::raw_sql("CREATE DATABASE product")
            .execute(&mut connection)
            .await?;
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .connect(&format!("{server}/product"))
            .await?;
        sqlx::raw_sql("CREATE EXTENSION pg_stat_statements")
            .execute(&pool)
            .await?;
        Ok(Self {
            process,
            program,
            logs: logs.to_owned(),
            port,
            pool,
        })
    }

    /// Ends it without any care for its clients.
    pub async fn crash(&mut self) -> Result<()> {
        self.process.tell(Signal::QUIT);
        self.process
            .ended()
            .await
            .context("PostgreSQL does not end")?;
        Ok(())
    }

    /// Starts it again at the same port, with its data.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = self.program.start(&self.logs)?;
        let url = self.url();
        self.process.comes_up(async || answers(&url).await).await
    }

    pub fn url(&self) -> String {
        format!("postgres://product@127.0.0.1:{}/product", self.port)
    }

    pub const fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// How many reads of products it has run since its start, whoever asked for them.
    pub async fn reads(&self) -> Result<u64> {
        let reads: i64 = sqlx::query_scalar(
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements \
             WHERE query ILIKE 'select%from%products%where%' AND query NOT ILIKE '%pg_stat_statements%'",
        )
        .fetch_one(&self.pool)
        .await
        .context("PostgreSQL does not say how many reads it has run")?;
        Ok(u64::try_from(reads)?)
    }

    /// Waits until it has run more reads than these.
    pub async fn reads_exceed(&self, reads: u64) -> Result<()> {
        for _ in 0..1_500 {
            if self.reads().await? > reads {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("the database was never read")
    }
}

async fn answers(url: &str) -> bool {
    PgConnection::connect(url).await.is_ok()
}

/// On the PATH, or in the folder of the newest version that Debian has installed.
fn program(name: &str) -> Result<String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let newest: Option<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .max();
    let there = newest.map(|(_, folder)| folder.join("bin").join(name));
    match there.filter(|file| file.is_file()) {
        Some(file) => Ok(file.display().to_string()),
        None => need(name),
    }
}
