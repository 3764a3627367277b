//! `doctor`: looks for what is wrong with the Redis, and says what each finding means.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::PATIENCE;
use super::report::{Report, printable, span};
use super::rights::{Allowed, allowed, rights};
use super::status::{ANY_SLOT, field, version};
use crate::backend::redis::{Plain, RedisCoordinator, SLOTS};
use crate::engine::ask::AbandonAsk;
use crate::format::message::Message;
use crate::ports::coordinator::{Coordinator as _, Notice};
use crate::words::clock::now;
use crate::words::key::Key;
use crate::words::token::Token;

/// What was looked at, what was found there, and what it means when it is not well.
struct Finding {
    of: String,
    well: bool,
    found: String,
    means: &'static str,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, of: &str, well: bool, found: impl Into<String>, means: &'static str) {
        let (of, found) = (of.to_owned(), found.into());
        self.0.push(Finding {
            of,
            well,
            found,
            means,
        });
    }
}

pub(crate) async fn run(redis: &RedisCoordinator, prefix: &str) -> Report {
    let mut findings = Findings::default();
    findings.add("connection", true, "made", "");
    scripts(redis, &mut findings).await;
    messages(redis, &mut findings).await;
    clock(redis, &mut findings).await;
    cluster(redis, &mut findings);
    let primaries = redis.primaries();
    if primaries.is_empty() {
        node(redis, &mut findings, "", ANY_SLOT).await;
    }
    // Each has settings and users of its own.
    for (name, slot) in &primaries {
        node(redis, &mut findings, &format!(" of {name}"), *slot).await;
    }
    report(&findings.0, prefix)
}

/// What one server is and allows. `whose` tells it apart from the others of a cluster.
async fn node(redis: &RedisCoordinator, findings: &mut Findings, whose: &str, slot: u16) {
    server(redis, findings, whose, slot).await;
    memory(redis, findings, whose, slot).await;
    for right in rights(redis) {
        let told = allowed(redis, slot, &right).await;
        let found = match told {
            Allowed::Yes => "allowed",
            Allowed::No => "not allowed",
            Allowed::NotTold => "not told: a server older than 7 tells nobody",
        };
        let of = format!("right {}{whose}", right.rule);
        findings.add(&of, told != Allowed::No, found, right.without);
    }
}

fn report(findings: &[Finding], prefix: &str) -> Report {
    let mut text = String::new();
    for Finding {
        of,
        well,
        found,
        means,
    } in findings
    {
        let sign = if *well { "ok  " } else { "LOOK" };
        let _ = writeln!(text, "{sign} {}: {}", printable(of), printable(found));
        if !well {
            let _ = writeln!(text, "     it means: {means}");
        }
    }
    let bad = findings.iter().filter(|finding| !finding.well).count();
    let _ = match bad {
        0 => writeln!(text, "all is well for the prefix {prefix}"),
        some => writeln!(
            text,
            "{some} to look at; docs/operating.md has the rule of rights and the settings"
        ),
    };
    let listed: Vec<_> = findings
        .iter()
        .map(
            |Finding {
                 of,
                 well,
                 found,
                 means,
             }| {
                let means = (!well).then_some(means);
                json!({ "of": of, "well": well, "found": found, "means": means })
            },
        )
        .collect();
    Report {
        text,
        json: json!({ "well": bad == 0, "findings": listed }),
        finding: bad > 0,
    }
}

async fn server(redis: &RedisCoordinator, findings: &mut Findings, whose: &str, slot: u16) {
    let means = "Redis 6.2 is the oldest with every command that is used, GETEX among them";
    let of = format!("version{whose}");
    match version(redis, slot).await {
        Some(version) => {
            let mut numbers = version
                .split('.')
                .map(|part| part.parse::<u32>().unwrap_or(0));
            let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            findings.add(&of, (major, minor) >= (6, 2), version, means);
        }
        None => findings.add(&of, false, "INFO is refused", means),
    }
}

async fn memory(redis: &RedisCoordinator, findings: &mut Findings, whose: &str, slot: u16) {
    let means = "an evicted lock costs a second run of its body, an evicted value a run: noeviction, or more memory";
    let of = format!("eviction{whose}");
    let info = redis.plain_at(slot, &["INFO", "memory"], PATIENCE).await;
    let Some(info) = info.ok().and_then(|info| info.text()) else {
        findings.add(&of, false, "INFO is refused", means);
        return;
    };
    let policy = field(&info, "maxmemory_policy").unwrap_or_default();
    let limit = field(&info, "maxmemory").unwrap_or_default();
    let well = policy == "noeviction" || limit == "0";
    findings.add(&of, well, format!("{policy}, maxmemory {limit}"), means);
}

async fn scripts(redis: &RedisCoordinator, findings: &mut Findings) {
    let means = "without scripts there are no leaders: bodies run once in each process";
    // Asks for the lock of nobody: nothing is written.
    let key = Key::new("coalesce-ctl", &[]);
    let nobody = AbandonAsk::gives_way(Token::random());
    let answer = redis.abandon(&key, nobody).await;
    let found = answer.map_or_else(|fault| fault.to_string(), |_| "run".to_owned());
    findings.add("scripts", answer.is_ok(), found, means);
}

async fn messages(redis: &RedisCoordinator, findings: &mut Findings) {
    let means = "followers learn of an outcome by polling, up to a second late, and processes of the switch within a second";
    let token = Token::random();
    // A key of its own: what others say on another's channel is not ours.
    let key = Key::new("coalesce-ctl", &[&token.to_hex()]);
    let [.., channel] = redis.names_of(&key);
    let mut listener = match redis.listen(&key).await {
        Ok(listener) => listener,
        Err(fault) => return findings.add("messages", false, format!("SUBSCRIBE: {fault}"), means),
    };
    let sent = now();
    let published = redis
        .say(&channel, Message::encode_abandoned(&key, token, false))
        .await;
    if let Err(refusal) = published {
        return findings.add("messages", false, format!("PUBLISH: {refusal}"), means);
    }
    let heard = async { while !matches!(listener.next().await, Notice::Message(_)) {} };
    match tokio::time::timeout(PATIENCE, heard).await {
        Ok(()) => findings.add(
            "messages",
            true,
            format!("heard after {:?}", now() - sent),
            means,
        ),
        Err(_) => findings.add("messages", false, "sent and not heard", means),
    }
}

async fn clock(redis: &RedisCoordinator, findings: &mut Findings) {
    let means = "the library does not mind, it uses the server's clock alone; what people compare by hand is off";
    let (Some(known), Ok(here)) = (
        redis.plain(&["TIME"], None, PATIENCE).await.ok(),
        SystemTime::now().duration_since(UNIX_EPOCH),
    ) else {
        return findings.add("clock", false, "TIME is refused", means);
    };
    let parts: Vec<_> = known.list().iter().filter_map(Plain::number).collect();
    let [seconds, micros] = parts[..] else {
        return findings.add("clock", false, "TIME says something else", means);
    };
    let there = Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
        + Duration::from_micros(u64::try_from(micros).unwrap_or(0));
    let word = if there > here { "ahead of" } else { "behind" };
    let off = there.abs_diff(here);
    let found = format!("the server's is {} {word} this machine's", span(off));
    findings.add("clock", off < Duration::from_secs(5), found, means);
}

fn cluster(redis: &RedisCoordinator, findings: &mut Findings) {
    if !redis.is_clustered() {
        return;
    }
    let means = "keys of slots without a node are not shared between processes";
    let (assigned, health) = (redis.assigned_slots(), redis.health());
    let nodes = if health.connected { "all" } else { "not all" };
    findings.add(
        "cluster slots",
        assigned == SLOTS && health.connected,
        format!("{assigned} of {SLOTS} are served, {nodes} primaries are connected"),
        means,
    );
}
