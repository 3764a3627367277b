//! `switch`: turns the kill switch, and says where it stands.

use std::fmt::Write as _;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::report::{Report, printable, span};
use super::{PATIENCE, Trouble};
use crate::backend::redis::RedisCoordinator;
use crate::ports::coordinator::Coordinator as _;
use crate::words::clock::{ServerTime, now};
use crate::words::fault::Fault;
use crate::words::key_text::unescape;
use crate::words::known::{is_about, shown};
use crate::words::switch::{Position, Scope, switch_key};

#[derive(Debug, Subcommand)]
pub(crate) enum SwitchArgs {
    /// Calls run as if the attribute were not there, in the whole fleet, within milliseconds.
    Off(TurnArgs),
    /// Takes the position away; with --force, sets one that counts more than that of everything.
    On(TurnArgs),
    /// Every position that is set.
    List,
}

#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    /// The namespace, as `status` lists it.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    namespace: Option<String>,
    /// Everything that has no position of its own.
    #[arg(long)]
    all: bool,
    /// Ends by itself: 10m, 1h 30m. For `on`: with --force alone.
    #[arg(long = "for", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Why, for those who look at it later.
    #[arg(long, default_value = "")]
    reason: String,
    /// Who.
    #[arg(long, env = "USER", default_value = "", hide_env_values = true)]
    by: String,
    /// Also for a namespace that no process has announced. For `on`: a position of its own.
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(redis: &RedisCoordinator, args: SwitchArgs) -> Result<Report, Trouble> {
    match args {
        SwitchArgs::Off(args) => turn(redis, &args, Some(Position::off())).await,
        SwitchArgs::On(args) if args.force => turn(redis, &args, Some(Position::on())).await,
        SwitchArgs::On(args) if args.lasting.is_some() => Err(Trouble::Usage(
            "without --force, `on` takes a position away, and has no end for --for to set"
                .to_owned(),
        )),
        SwitchArgs::On(args) => turn(redis, &args, None).await,
        SwitchArgs::List => list(redis).await,
    }
}

/// What has ended before it begins is a slip.
fn lasting(text: &str) -> Result<Duration, String> {
    let span = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if span.is_zero() {
        return Err("it would end at once".to_owned());
    }
    Ok(span)
}

async fn turn(
    redis: &RedisCoordinator,
    args: &TurnArgs,
    position: Option<Position>,
) -> Result<Report, Trouble> {
    let scope = match &args.namespace {
        Some(namespace) => Scope::namespace(namespace.as_str()),
        None => Scope::Everything,
    };
    let known = match &args.namespace {
        Some(namespace) => match redis.announced().await {
            Ok(said) => said.iter().any(|said| is_about(said, namespace)),
            // Who means it, or takes a position away, need not know.
            Err(_) if args.force || position.is_none() => false,
            Err(fault) => return Err(silent(fault)),
        },
        None => true,
    };
    if position.is_some() && !known && !args.force {
        return Ok(unknown(&scope));
    }
    let position = position.map(|position| {
        let end = args.lasting.map(|span| server_now(redis).plus(span));
        let position = position.because(&*args.by, &*args.reason);
        Position {
            until: end,
            ..position
        }
    });
    let text = position.as_ref().map(Position::encode);
    let replaced = redis.set_switch(&scope.field(), text.as_deref()).await;
    let replaced = replaced.map_err(silent)?;
    let replaced = replaced.and_then(|text| Position::decode(&text));
    let everything_is_off = match scope {
        Scope::Everything => Some(false),
        Scope::Namespace(_) => everything_is_off(redis).await,
    };
    Ok(turned(
        redis,
        &scope,
        position.as_ref(),
        replaced.as_ref(),
        known,
        everything_is_off,
    ))
}

/// `None`: not told. What was turned stands all the same.
async fn everything_is_off(redis: &RedisCoordinator) -> Option<bool> {
    let positions = positions(redis).await.ok()?;
    let now = server_now(redis);
    let off = |it: &Position| !it.on && it.holds_at(now);
    Some(positions.iter().any(|(scope, position)| {
        *scope == Scope::Everything.field() && position.as_ref().is_some_and(off)
    }))
}

fn turned(
    redis: &RedisCoordinator,
    scope: &Scope,
    position: Option<&Position>,
    replaced: Option<&Position>,
    known: bool,
    everything_is_off: Option<bool>,
) -> Report {
    let now = server_now(redis);
    let may_be_off = position.is_none() && everything_is_off != Some(false);
    let mut text = match position {
        Some(position) => format!("{scope} is {}\n", in_words(position, now)),
        None => format!("{scope} has no position of its own any more\n"),
    };
    if let Some(replaced) = replaced {
        let _ = writeln!(text, "before: {}", in_words(replaced, now));
    } else if position.is_none() {
        text.push_str("it had none before\n");
    }
    if may_be_off {
        text.push_str(match everything_is_off {
            Some(_) => {
                "everything is off, and with it this: use --force for a position of its own\n"
            }
            None => "whether everything is off, and with it this, is not told\n",
        });
    }
    if !known {
        text.push_str("no process is known to have this namespace\n");
    }
    let json = json!({
        "scope": scope.to_string(),
        "position": position.map(|it| as_json(it, now)),
        "replaced": replaced.map(|it| as_json(it, now)),
        "known": known,
        "everything_is_off": everything_is_off,
    });
    let finding = may_be_off || !known;
    Report {
        text,
        json,
        finding,
    }
}

fn unknown(scope: &Scope) -> Report {
    Report {
        text: format!(
            "unknown: no process has announced {scope} within an hour, so nothing was turned.\n\
             `coalesce-ctl status` lists what there is; --force turns it all the same\n"
        ),
        json: json!({ "scope": scope.to_string(), "known": false, "position": null }),
        finding: true,
    }
}

async fn list(redis: &RedisCoordinator) -> Result<Report, Trouble> {
    let positions = positions(redis).await?;
    let now = server_now(redis);
    let mut report = Report {
        json: listed_json(&positions, now),
        text: listed(&positions, now),
        finding: positions.iter().any(|(_, position)| position.is_none()),
    };
    if report.text.is_empty() {
        report.text.push_str("everything is on\n");
    }
    Ok(report)
}

/// Every position, by field; `None` where something else stands.
pub(crate) async fn positions(
    redis: &RedisCoordinator,
) -> Result<Vec<(String, Option<Position>)>, Trouble> {
    let fields = redis.switches().await.map_err(silent)?;
    let read = |(field, text): (String, String)| (field, Position::decode(&text));
    let mut positions: Vec<_> = fields.into_iter().map(read).collect();
    positions.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(positions)
}

/// The positions as lines.
pub(crate) fn listed(positions: &[(String, Option<Position>)], now: ServerTime) -> String {
    let mut text = String::new();
    for (field, position) in positions {
        let words = position.as_ref().map_or_else(
            || "what stands there is not a position: each process keeps the last one that it could read".to_owned(),
            |position| in_words(position, now),
        );
        let _ = writeln!(text, "{}: {words}", printable(&name_of(field)));
    }
    text
}

pub(crate) fn listed_json(positions: &[(String, Option<Position>)], now: ServerTime) -> Value {
    let one = |(field, position): &(String, Option<Position>)| {
        let position = position.as_ref().map(|position| as_json(position, now));
        (name_of(field), position.unwrap_or(Value::Null))
    };
    positions
        .iter()
        .map(one)
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn name_of(field: &str) -> String {
    if field == Scope::Everything.field() {
        return Scope::Everything.to_string();
    }
    unescape(field).unwrap_or_else(|| shown(field))
}

fn in_words(position: &Position, now: ServerTime) -> String {
    let mut text = String::from(if position.on { "ON" } else { "OFF" });
    match position.until {
        Some(end) if end <= now => text.push_str(", which has ended"),
        Some(end) => {
            let _ = write!(text, " for {}", span(now.until(end)));
        }
        None => text.push_str(" until somebody turns it"),
    }
    if !position.author.is_empty() {
        let _ = write!(text, ", by {}", printable(&position.author));
    }
    if !position.reason.is_empty() {
        let _ = write!(text, ": {}", printable(&position.reason));
    }
    text
}

fn as_json(position: &Position, now: ServerTime) -> Value {
    json!({
        "on": position.on,
        "author": position.author,
        "reason": position.reason,
        "until_micros": position.until.map(ServerTime::as_micros),
        "seconds_left": position.until.map(|end| now.until(end).as_secs_f64()),
        "holds": position.holds_at(now),
    })
}

/// The server's time of the moment.
pub(crate) fn server_now(redis: &RedisCoordinator) -> ServerTime {
    redis.clock(switch_key()).server_at(now())
}

/// What to say when a question got no answer.
pub(crate) fn silent(fault: Fault) -> Trouble {
    Trouble::Unreachable(format!(
        "Redis gave no usable answer within {PATIENCE:?}: {fault}"
    ))
}
