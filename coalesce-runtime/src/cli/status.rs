//! `status`: the server, the processes that listen, the namespaces they have, and the switch.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, json};

use super::report::{Report, printable, span};
use super::switch::{listed, listed_json, positions, server_now};
use super::{PATIENCE, Trouble};
use crate::backend::redis::RedisCoordinator;
use crate::words::clock::{ServerTime, now};
use crate::words::known::shown;

/// What any node of a cluster can tell.
pub(crate) const ANY_SLOT: u16 = 0;

pub(crate) async fn run(redis: &RedisCoordinator) -> Result<Report, Trouble> {
    let asked = now();
    let unreachable = |_| Trouble::Unreachable("Redis does not answer".to_owned());
    redis
        .plain(&["PING"], None, PATIENCE)
        .await
        .map_err(unreachable)?;
    let round_trip = now() - asked;
    let version = version(redis, ANY_SLOT).await;
    let processes = processes(redis).await;
    let namespaces = namespaces(redis).await;
    let positions = positions(redis).await?;
    let now = server_now(redis);

    let mut text = format!(
        "Redis {} answers in {:.1} ms\n",
        printable(version.as_deref().unwrap_or("(version not told)")),
        round_trip.as_secs_f64() * 1_000.0
    );
    let _ = match processes {
        Some(count) => writeln!(text, "{count} processes listen"),
        None => writeln!(text, "how many processes listen is not told"),
    };
    text.push_str("namespaces, and when a process last said that it has it:\n");
    match namespaces.as_deref() {
        None => text.push_str("  not told\n"),
        Some([]) => text.push_str("  none: no process has announced any within an hour\n"),
        Some(names) => names.iter().for_each(|(name, ago)| {
            let _ = writeln!(text, "  {}  {} ago", printable(name), span(*ago));
        }),
    }
    text.push_str("switch:\n");
    match listed(&positions, now) {
        none if none.is_empty() => text.push_str("  everything is on\n"),
        lines => lines.lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        }),
    }
    let said =
        |(name, ago): (String, Duration)| (name, json!({ "said_seconds_ago": ago.as_secs_f64() }));
    let names = namespaces.map(|names| names.into_iter().map(said).collect::<Map<_, _>>());
    let json = json!({
        "version": version,
        "round_trip_seconds": round_trip.as_secs_f64(),
        "processes": processes,
        "namespaces": names,
        "switch": listed_json(&positions, now),
    });
    Ok(Report {
        text,
        json,
        finding: false,
    })
}

/// The server's version: Valkey says Redis's for the sake of clients, and its own beside it.
pub(crate) async fn version(redis: &RedisCoordinator, slot: u16) -> Option<String> {
    let info = redis
        .plain_at(slot, &["INFO", "server"], PATIENCE)
        .await
        .ok()?
        .text()?;
    field(&info, "valkey_version").or_else(|| field(&info, "redis_version"))
}

/// One line of INFO.
pub(crate) fn field(info: &str, name: &str) -> Option<String> {
    let mut lines = info.lines();
    lines.find_map(|line| {
        Some(
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .to_owned(),
        )
    })
}

/// Each process listens on the switch's channel, in a cluster at the node that serves its slot. Those of the
/// previous version listen at any node, so all are asked.
async fn processes(redis: &RedisCoordinator) -> Option<i64> {
    let channel = redis.switch_name();
    let words = ["PUBSUB", "NUMSUB", &channel];
    let slots = redis.primaries().into_iter().map(|(_, slot)| slot);
    let mut slots: Vec<_> = slots.collect();
    if slots.is_empty() {
        slots.push(ANY_SLOT);
    }
    let mut listening = 0;
    for slot in slots {
        let counted = redis.plain_at(slot, &words, PATIENCE).await.ok()?;
        listening += counted.list().get(1)?.number()?;
    }
    Some(listening)
}

/// `None`: not told.
async fn namespaces(redis: &RedisCoordinator) -> Option<Vec<(String, Duration)>> {
    let name = redis.known_name();
    let words = ["ZRANGE", &name, "0", "-1", "WITHSCORES"];
    let reply = redis.plain(&words, Some(name.as_bytes()), PATIENCE).await;
    let reply = reply.ok()?;
    // Pairs in a list of their own in the newer protocol, and one behind the other in the older.
    let flat: Vec<_> = reply
        .list()
        .iter()
        .flat_map(|part| {
            if part.list().is_empty() {
                std::slice::from_ref(part)
            } else {
                part.list()
            }
        })
        .collect();
    let now = redis.clock_of(&name).server_at(now());
    let mut names: Vec<_> = flat
        .chunks_exact(2)
        .filter_map(|pair| {
            let said: f64 = pair[1].text()?.parse().ok()?;
            let micros = Duration::try_from_secs_f64(said / 1e6).ok()?.as_micros();
            let said = ServerTime::from_micros(u64::try_from(micros).ok()?);
            Some((shown(&pair[0].text()?), said.until(now)))
        })
        .collect();
    names.sort();
    Some(names)
}
