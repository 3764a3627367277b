//! `inspect` and `invalidate`: one key, by its namespace and its text.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::report::{Report, printable, span};
use super::switch::{server_now, silent};
use super::{PATIENCE, Trouble};
use crate::backend::redis::{Plain, RedisCoordinator};
use crate::engine::ask::ReplaceAsk;
use crate::format::envelope::{Envelope, Status, Unreadable};
use crate::ports::coordinator::Coordinator as _;
use crate::words::key::Key;

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The namespace, as `status` lists it.
    namespace: String,
    /// The key as it stands behind the namespace in Redis: parts as they are written, with `:` between.
    #[arg(default_value = "")]
    key: String,
    /// The `version` of the call site.
    #[arg(long = "key-version")]
    version: Option<u32>,
    /// Show the stored value. It may hold what is nobody's business.
    #[arg(long)]
    payload: bool,
}

impl KeyArgs {
    fn key(&self) -> Result<Key, Trouble> {
        let key = Key::of_text(&self.namespace, self.version, &self.key);
        key.ok_or_else(|| {
            let wrong =
                "a key is written as it stands in Redis: visible ASCII, anything else as %XX";
            Trouble::Usage(wrong.to_owned())
        })
    }
}

pub(crate) async fn inspect(redis: &RedisCoordinator, args: &KeyArgs) -> Result<Report, Trouble> {
    let key = args.key()?;
    let bytes = redis.read(&key).await.map_err(silent)?;
    let (lock, lease_left) = lock_of(redis, &key).await?;
    let state = bytes
        .as_ref()
        .map(|bytes| (bytes.len(), Envelope::decode(&key, bytes)));
    let life_left = life(redis, &redis.names_of(&key)[1]).await?;
    let now = server_now(redis);

    let mut text = String::new();
    let state_json = match &state {
        None => {
            text.push_str("state: nothing is stored\n");
            Value::Null
        }
        Some((size, Err(why))) => {
            let why = match why {
                Unreadable::OtherKey => "another key's envelope: a shortened key? Give it whole",
                Unreadable::Malformed => "not an envelope of this version",
            };
            let _ = writeln!(text, "state: {size} bytes that cannot be read, {why}");
            json!({ "status": "unreadable", "bytes": size, "why": why })
        }
        Some((size, Ok(envelope))) => {
            let age = envelope.computed_at.until(now);
            let _ = writeln!(
                text,
                "state: {}, {} old, for {} more; its body ran for {}\nsize: {size} bytes, {} of them payload",
                status(envelope.status),
                span(age),
                life_left.map_or_else(|| "ever".to_owned(), span),
                span(envelope.ran_for),
                envelope.payload.len()
            );
            if envelope.failed_refreshes > 0 {
                let _ = writeln!(
                    text,
                    "refreshes that failed since: {}",
                    envelope.failed_refreshes
                );
            }
            let mut json = json!({
                "status": status(envelope.status),
                "age_seconds": age.as_secs_f64(),
                "life_left_seconds": life_left.map(|left| left.as_secs_f64()),
                "ran_for_seconds": envelope.ran_for.as_secs_f64(),
                "bytes": size,
                "payload_bytes": envelope.payload.len(),
                "codec": envelope.codec,
                "failed_refreshes": envelope.failed_refreshes,
            });
            if args.payload {
                let payload = payload(envelope);
                let _ = writeln!(text, "payload: {payload}");
                json["payload"] = payload;
            }
            json
        }
    };
    let _ = match (&lock, lease_left) {
        (None, _) => writeln!(text, "flight: none in progress"),
        (Some(lock), left) => writeln!(
            text,
            "flight: led by {}{}{}, {} of its lease left",
            lock.leader,
            lock.trace
                .as_ref()
                .map_or_else(String::new, |trace| format!(" in trace {trace}")),
            if lock.fenced {
                ", fenced by an invalidation"
            } else {
                ""
            },
            left.map_or_else(|| "no end".to_owned(), span)
        ),
    };
    let flight = lock.as_ref().map(|lock| {
        json!({
            "leader": lock.leader,
            "fenced": lock.fenced,
            "trace": lock.trace,
            "lease_left_seconds": lease_left.map(|left| left.as_secs_f64()),
        })
    });
    let finding = matches!(state, Some((_, Err(_))));
    let json = json!({ "namespace": args.namespace, "state": state_json, "flight": flight });
    Ok(Report {
        text,
        json,
        finding,
    })
}

pub(crate) async fn invalidate(
    redis: &RedisCoordinator,
    args: &KeyArgs,
) -> Result<Report, Trouble> {
    let key = args.key()?;
    let state = redis.read(&key).await.map_err(silent)?;
    let was_stored = state.is_some_and(|bytes| Envelope::holds_outcome(&key, &bytes));
    let fenced = redis.replace(&key, &ReplaceAsk::invalidation()).await;
    let fenced = fenced.map_err(silent)?;
    let text = match (was_stored, fenced) {
        (_, true) => "invalidated; the flight in progress is fenced: its value is not stored\n",
        (true, false) => "invalidated\n",
        (false, false) => "nothing was stored for this key, and no flight is in progress\n",
    };
    Ok(Report {
        text: text.to_owned(),
        json: json!({ "namespace": args.namespace, "was_stored": was_stored, "fenced": fenced }),
        finding: !was_stored && !fenced,
    })
}

/// Who holds a lock. The first digits tell two leaders apart, and are too few to forge one.
struct Lock {
    leader: String,
    fenced: bool,
    trace: Option<String>,
}

async fn lock_of(
    redis: &RedisCoordinator,
    key: &Key,
) -> Result<(Option<Lock>, Option<Duration>), Trouble> {
    let [name, ..] = redis.names_of(key);
    let text = ask(redis, &["GET", &name], &name).await?.text();
    let lock = text.map(|text| Lock {
        leader: printable(&text.chars().take(8).collect::<String>()) + "…",
        fenced: text.contains('!'),
        trace: text
            .split_once(' ')
            .map(|(_, trace)| printable(trace.trim())),
    });
    Ok((lock, life(redis, &name).await?))
}

async fn life(redis: &RedisCoordinator, name: &str) -> Result<Option<Duration>, Trouble> {
    let left = ask(redis, &["PTTL", name], name).await?.number();
    Ok(left
        .and_then(|left| u64::try_from(left).ok())
        .map(Duration::from_millis))
}

async fn ask(redis: &RedisCoordinator, words: &[&str], name: &str) -> Result<Plain, Trouble> {
    let reply = redis.plain(words, Some(name.as_bytes()), PATIENCE).await;
    reply.map_err(Trouble::Unreachable)
}

const fn status(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Failed => "failed",
        Status::TooLarge => "too_large",
        Status::Invalidated => "invalidated",
    }
}

/// The payload as JSON where that can be made of it, and in hexadecimal digits otherwise.
fn payload(envelope: &Envelope) -> Value {
    use std::fmt::Write as _;
    let bytes = &envelope.payload[..];
    let value = match envelope.codec {
        1 => rmp_serde::from_slice(bytes).ok(),
        _ => serde_json::from_slice(bytes).ok(),
    };
    value.unwrap_or_else(|| {
        let mut digits = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(digits, "{byte:02x}");
        }
        Value::String(digits)
    })
}
