//! A Redis of its own, a process with one namespace, and the program.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use coalesce_rig::RedisServer;
use coalesce_runtime::{Clocks, Coalescer, Policy};
use serde_json::Value;

pub(crate) const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) text: String,
    pub(crate) complaint: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs the program at `url`, off the runtime's threads: what it asks may have to be answered there.
pub(crate) async fn ctl_at(url: String, words: &[&str]) -> Said {
    ctl_with(&[("COALESCE_REDIS_URL", &url)], words).await
}

/// The same, in an environment that says more.
pub(crate) async fn ctl_with(environment: &[(&str, &str)], words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coalesce-ctl"));
    command
        .args(words)
        .env("USER", "grace")
        .envs(environment.iter().copied());
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
    let ended = ended.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: ended.status.code().unwrap(),
        text: text(ended.stdout),
        complaint: text(ended.stderr),
    }
}

pub(crate) async fn ctl(server: &RedisServer, words: &[&str]) -> Said {
    ctl_at(server.url(), words).await
}

/// The URL of a user who may do everything but `command`.
pub(crate) fn user_without(server: &RedisServer, command: &str) -> String {
    let less = format!("-{command}");
    let rule = ["on", ">secret", "~*", "&*", "+@all", &less];
    server.command(&[&["ACL", "SETUSER", "limited", "reset"][..], &rule].concat());
    format!("redis://limited:secret@127.0.0.1:{}", server.port())
}

/// A process that has called its only namespace, and has told the fleet.
pub(crate) async fn process(server: &RedisServer) -> Coalescer {
    let builder = Coalescer::builder().redis(server.url());
    let coalescer = builder.build().await.unwrap();
    assert_eq!(price(&coalescer, 7, Duration::ZERO).await, 7);
    // What it told at its start did not have the namespace; it looks again after ten seconds.
    eventually("the namespace is announced", || {
        let known = server
            .command(&["ZRANGE", "coalesce:namespaces", "0", "-1"])
            .list();
        known.iter().any(|name| name.text() == "shop::price")
    })
    .await;
    coalescer
}

/// The price of the item 7.
pub(crate) async fn price(coalescer: &Coalescer, value: u64, body: Duration) -> u64 {
    price_of(coalescer, 7, value, tokio::time::sleep(body)).await
}

/// Retained for a minute. The body waits for `work`.
pub(crate) async fn price_of<W>(coalescer: &Coalescer, item: u64, value: u64, work: W) -> u64
where
    W: Future<Output: Send> + Send + 'static,
{
    let minute = Duration::from_mins(1);
    let clocks = Clocks::new(minute, None, minute / 2, Some(minute)).unwrap();
    let policy = Arc::new(Policy::new(clocks));
    let call = coalescer
        .call("shop::price")
        .key("acme")
        .key(item)
        .policy(policy);
    let run = move || async move {
        work.await;
        value
    };
    call.run(run).await
}

pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(5 * MS).await;
    }
}
