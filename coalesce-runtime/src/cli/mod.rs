//! The operator's tool `coalesce-ctl`: what it is asked, and how it ends.

mod doctor;
mod inspect;
mod report;
mod rights;
mod status;
mod switch;
mod top;
mod top_table;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

use self::report::{Report, print};
use crate::backend::redis::{RedisCoordinator, RedisSettings};

/// How long the tool waits for one answer of Redis; a person has more patience than a call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Looks at coalescing in a fleet, and turns it off in an incident.
///
/// Ends with 0 when all is well, 1 when something was found or is unknown, 2 when it was asked wrongly, and 3
/// when Redis, or the process that was asked, cannot be reached.
#[derive(Debug, Parser)]
#[command(name = "coalesce-ctl", version)]
struct Asked {
    /// Where Redis is. A password in the environment is not seen by others on the machine.
    #[arg(
        long,
        env = "COALESCE_REDIS_URL",
        hide_env_values = true,
        global = true
    )]
    url: Option<String>,
    /// The first part of every name in Redis.
    #[arg(long, default_value = "coalesce", global = true)]
    prefix: String,
    /// Answer in JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// The server, how many processes listen, which namespaces they have, and the switch.
    Status,
    /// What coalescing does in each namespace, live, as processes say it over HTTP.
    Top(top::TopArgs),
    /// The kill switch.
    #[command(subcommand)]
    Switch(switch::SwitchArgs),
    /// What is stored for one key, and who computes it.
    Inspect(inspect::KeyArgs),
    /// Removes the stored value of one key and fences its flight in progress.
    Invalidate(inspect::KeyArgs),
    /// Looks for what is wrong with the Redis and with the rights of its user.
    Doctor,
    /// Prints completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Why there is no report.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Asked in a way that cannot be answered.
    Usage(String),
    /// Nobody answers.
    Unreachable(String),
}

/// Does what the arguments of the program ask for.
pub fn main() -> ExitCode {
    // Ends with 2 by itself when the arguments are wrong.
    let asked = Asked::parse();
    if let What::Completions { shell } = asked.what {
        let mut words = Vec::new();
        clap_complete::generate(shell, &mut Asked::command(), "coalesce-ctl", &mut words);
        return print(&String::from_utf8_lossy(&words), 0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let json = asked.json;
    let answer = match runtime {
        Ok(runtime) => runtime.block_on(answer(asked)),
        Err(error) => Err(Trouble::Unreachable(error.to_string())),
    };
    match answer {
        Ok(report) => report.print(json),
        Err(trouble) => report::complain(&trouble, json),
    }
}

async fn answer(asked: Asked) -> Result<Report, Trouble> {
    if let What::Top(args) = asked.what {
        return top::run(&args, asked.json).await;
    }
    let redis = connect(asked.url, &asked.prefix).await?;
    match asked.what {
        What::Status => status::run(&redis).await,
        What::Switch(args) => switch::run(&redis, args).await,
        What::Inspect(args) => inspect::inspect(&redis, &args).await,
        What::Invalidate(args) => inspect::invalidate(&redis, &args).await,
        What::Doctor => Ok(doctor::run(&redis, &asked.prefix).await),
        // Answered without a connection.
        What::Top(_) | What::Completions { .. } => Ok(Report::default()),
    }
}

async fn connect(url: Option<String>, prefix: &str) -> Result<RedisCoordinator, Trouble> {
    let url = url.ok_or_else(|| {
        let nothing = "no Redis is named: give --url, or set COALESCE_REDIS_URL";
        Trouble::Usage(nothing.to_owned())
    })?;
    let settings = RedisSettings::new(url).prefix(prefix).deadline(PATIENCE);
    let redis = RedisCoordinator::connect(settings).await;
    let redis = redis.map_err(|problem| Trouble::Usage(problem.to_string()))?;
    if redis.plain(&["PING"], None, PATIENCE).await.is_ok() || redis.health().connected {
        return Ok(redis);
    }
    let fault = redis.health().last_fault;
    let why = fault.map_or_else(|| "no answer".to_owned(), |last| last.fault.to_string());
    Err(Trouble::Unreachable(format!("no Redis there: {why}")))
}
