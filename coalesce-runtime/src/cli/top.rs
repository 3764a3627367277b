//! `top`: asks processes for their snapshots over HTTP, once a second, and shows them as a table.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::Trouble;
use super::report::{Report, write};
use super::top_table::{Row, rows, table};
use crate::books::snapshot::Snapshot;

/// Less would tell of nothing but the asking.
const SHORTEST: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Where a process serves the admin router, such as `http://10.0.0.7:9000/coalesce`. Once for each process.
    #[arg(long, required = true, value_name = "URL")]
    from: Vec<String>,
    /// The token of the admin router.
    #[arg(long, env = "COALESCE_ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// How often.
    #[arg(long, default_value = "1s", value_parser = humantime::parse_duration)]
    every: Duration,
    /// Ends after so many looks; each needs two answers, because a rate is a difference.
    #[arg(long)]
    looks: Option<u64>,
}

/// A snapshot of each process that answered, by its URL; and why the others did not.
struct Look {
    snapshots: BTreeMap<String, Snapshot>,
    silent: Vec<String>,
}

pub(crate) async fn run(args: &TopArgs, json: bool) -> Result<Report, Trouble> {
    let every = args.every.max(SHORTEST);
    let (mut before, mut looks) = (look(args), 0);
    let mut silent = before.silent.len();
    while args.looks.is_none_or(|most| looks < most) {
        tokio::time::sleep(every).await;
        let now = look(args);
        if now.snapshots.is_empty() {
            return Err(Trouble::Unreachable(now.silent.join("; ")));
        }
        silent = now.silent.len();
        if show(&rows(&before.snapshots, &now.snapshots), &now, json).is_err() {
            // Nobody reads any more.
            break;
        }
        (before, looks) = (now, looks + 1);
    }
    Ok(Report {
        finding: silent > 0,
        ..Report::default()
    })
}

fn show(rows: &[Row], look: &Look, json: bool) -> io::Result<()> {
    if json {
        let line =
            json!({ "namespaces": rows, "processes": look.snapshots.len(), "silent": look.silent });
        return write(&format!("{line}\n"));
    }
    if io::stdout().is_terminal() {
        // To the corner, and the rest of the screen away: a table is drawn over the last one.
        write("\x1b[H\x1b[2J")?;
    }
    let mut text = table(rows, look.snapshots.len());
    for silent in &look.silent {
        text.push_str(silent);
        text.push('\n');
    }
    write(&text)
}

fn look(args: &TopArgs) -> Look {
    let mut look = Look {
        snapshots: BTreeMap::new(),
        silent: Vec::new(),
    };
    for url in &args.from {
        match snapshot(url, args.token.as_deref()) {
            Ok(snapshot) => drop(look.snapshots.insert(url.clone(), snapshot)),
            Err(error) => look.silent.push(format!("{url}: {error}")),
        }
    }
    look
}

fn snapshot(url: &str, token: Option<&str>) -> Result<Snapshot, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(super::PATIENCE));
    let agent = ureq::Agent::new_with_config(config.build());
    let mut request = agent.get(format!("{}/snapshot", url.trim_end_matches('/')));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = request.call().map_err(|error| error.to_string())?;
    let mut body = response.into_body();
    let text = body.read_to_string().map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
