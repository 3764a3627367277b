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
use crate::ports::coordinator::Coordinator as _;
use crate::words::clock::now;
use crate::words::fault::Fault;
use crate::words::policy::Policy;

/// How long the tool waits for one answer of Redis; a person has more patience than a call.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How long it tries to reach a Redis that neither answers nor turns it away.
const REACHING: Duration = Duration::from_secs(8);

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
    // It does not know what call sites take, and shows whatever is there.
    redis.takes(Policy::MAX_PAYLOAD);
    let begun = now();
    loop {
        if redis.plain(&["PING"], None, PATIENCE).await.is_ok() || redis.health().connected {
            return Ok(redis);
        }
        let fault = redis.health().last_fault.map(|last| last.fault);
        if is_final(fault) || now() - begun > REACHING {
            let why = fault.map_or_else(|| "no answer".to_owned(), |fault| fault.to_string());
            return Err(Trouble::Unreachable(format!("no Redis there: {why}")));
        }
        tokio::time::sleep(PATIENCE / 20).await;
    }
}

/// Who turns us away means it; who is slow, or was not heard of yet, may only be busy.
const fn is_final(fault: Option<Fault>) -> bool {
    !matches!(fault, None | Some(Fault::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_silent_is_waited_for_and_who_turns_us_away_is_not() {
        assert!(!is_final(None));
        assert!(!is_final(Some(Fault::Timeout)));
        assert!(is_final(Some(Fault::Disconnected)));
        assert!(is_final(Some(Fault::Refused)));
    }

    const PAGES: [&str; 3] = [
        include_str!("../../../docs/operating.md"),
        include_str!("../../../docs/runbooks.md"),
        include_str!("../../../docs/clocks.md"),
    ];

    /// The words of a line, as a shell takes it: what stands in quotes is one.
    fn words(line: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for (place, part) in line.split('"').enumerate() {
            if place % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        words
    }

    #[test]
    fn every_command_that_a_page_names_is_understood() {
        let quoted = PAGES
            .iter()
            .flat_map(|page| page.split('`').skip(1).step_by(2));
        let commands: Vec<_> = quoted
            .filter(|it| it.starts_with("coalesce-ctl "))
            .collect();
        assert!(commands.len() >= 20, "{commands:?}");
        for command in commands {
            let asked = Asked::try_parse_from(words(command));
            assert!(asked.is_ok(), "{command}: {}", asked.unwrap_err());
        }
    }

    /// What the pages tell people to look for is what the tool says.
    #[test]
    fn every_answer_that_a_runbook_names_is_one_of_the_tools() {
        let sources = [
            include_str!("doctor.rs"),
            include_str!("inspect.rs"),
            include_str!("status.rs"),
            include_str!("switch.rs"),
        ]
        .concat();
        for answer in [
            "all is well for the prefix ",
            "LOOK",
            "everything is on",
            "flight: led by ",
            "flight: none in progress",
            "refreshes that failed since: ",
            "not an envelope of this version",
            "another key's envelope",
            "too_large",
            "sent and not heard",
            "heard after ",
            "SUBSCRIBE: ",
            "PUBLISH: ",
        ] {
            assert!(PAGES[1].contains(answer), "no runbook names {answer}");
            assert!(sources.contains(answer), "the tool never says {answer}");
        }
    }
}
