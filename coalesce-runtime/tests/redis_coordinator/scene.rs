//! What most tests need: a coordinator on a private server, keys, tokens and questions.

use std::time::{Duration, Instant};

use coalesce_rig::RedisServer;
use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, Envelope, FinishAsk, Seen, ServerTime, Status, Token,
};
use coalesce_runtime::{Key, RedisCoordinator, RedisSettings};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(15);

/// A server that a test talks to by way of a coordinator.
pub(crate) trait Coordinated {
    fn settings(&self) -> RedisSettings;

    /// With five times the usual deadline: a machine may be busy, and few tests are about how long a question takes.
    async fn coordinator(&self) -> RedisCoordinator {
        let settings = self.settings().deadline(5 * 250 * MS);
        RedisCoordinator::connect(settings).await.unwrap()
    }

    /// With the usual deadline, for tests that are about it.
    async fn usual(&self) -> RedisCoordinator {
        RedisCoordinator::connect(self.settings()).await.unwrap()
    }
}

impl Coordinated for RedisServer {
    fn settings(&self) -> RedisSettings {
        RedisSettings::new(self.url())
    }
}

/// The user of the operators' page, as a URL names it.
pub(crate) const LEAST: &str = "coalesce:secret@";

/// Gives a server the user that the operators' page has for one server, or for a node of a cluster.
pub(crate) fn grant_least(server: &RedisServer, clustered: bool) {
    let page = include_str!("../../../docs/operating.md");
    let mut rules = page.lines().filter(|line| line.starts_with("user "));
    let rule = rules.nth(usize::from(clustered)).unwrap();
    let words = rule.split_whitespace().skip(1);
    let words: Vec<_> = ["ACL", "SETUSER"].into_iter().chain(words).collect();
    assert_eq!(server.ask(&words), "OK");
}

/// Waits until something holds, where tasks have to run in the meantime.
pub(crate) async fn soon(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(5 * MS).await;
    }
    started.elapsed()
}

pub(crate) fn key(number: u32) -> Key {
    Key::new("shop::get_order", &[&number])
}

pub(crate) fn lock(number: u32) -> String {
    format!("coalesce:lock:{{shop::get_order:{number}}}")
}

pub(crate) fn state(number: u32) -> String {
    format!("coalesce:state:{{shop::get_order:{number}}}")
}

pub(crate) fn token(byte: u8) -> Token {
    Token::from_bytes([byte; 16])
}

pub(crate) fn begin(token: Token) -> BeginAsk {
    BeginAsk {
        token,
        lease: 3 * SECOND,
        seen: Some(Seen::NOTHING),
        following: None,
        trace: None,
    }
}

pub(crate) fn envelope(status: Status, token: Token, payload: &[u8]) -> Envelope {
    Envelope::new(status, 1, token, 20 * MS, payload.to_vec().into())
}

pub(crate) fn finish(envelope: Envelope) -> FinishAsk {
    FinishAsk {
        envelope,
        ended_ago: Duration::ZERO,
        life: 60 * SECOND,
        seen: Seen::NOTHING,
        retake_until: ServerTime::default(),
        began: None,
        spare_value: None,
    }
}

pub(crate) const LEAD: BeginAnswer = BeginAnswer::Lead {
    seen: Seen::NOTHING,
};
