//! A private server per test, a plain connection to ask it what happened, and what most tests need.
//!
//! Servers and proxies are the rig's; here they are asked in texts.

use std::time::{Duration, Instant};

use coalesce_rig::{Connection, RedisServer, Value};
pub(crate) use coalesce_rig::{eventually, free_port};
use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, Envelope, FinishAsk, Seen, ServerTime, Status, Token,
};
use coalesce_runtime::{Key, RedisCoordinator, RedisSettings};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(15);

/// A `redis-server` of this test alone. It dies with this value.
pub(crate) struct Server {
    pub(crate) port: u16,
    server: RedisServer,
}

impl From<RedisServer> for Server {
    fn from(server: RedisServer) -> Self {
        let port = server.port();
        Self { port, server }
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        RedisServer::start().into()
    }

    pub(crate) fn start_with(options: &[&str]) -> Self {
        RedisServer::start_with(options).into()
    }

    /// One that appears late, or comes back.
    pub(crate) fn start_at(port: u16) -> Self {
        RedisServer::start_at(port).into()
    }

    /// A node of a cluster, which knows nobody yet.
    pub(crate) fn start_node() -> Self {
        RedisServer::start_node().into()
    }

    /// The port on which nodes of a cluster talk to each other.
    pub(crate) fn bus(&self) -> u64 {
        self.ask(&["CONFIG", "GET", "cluster-port"])
            .lines()
            .last()
            .and_then(|port| port.parse().ok())
            .expect("a node of a cluster")
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) async fn coordinator(&self) -> RedisCoordinator {
        RedisCoordinator::connect(self.settings()).await.unwrap()
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        RedisSettings::new(self.url())
    }

    pub(crate) fn plain(&self) -> Plain {
        Plain(self.server.connection())
    }

    /// Asks one thing on a connection of its own.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        self.plain().ask(words)
    }

    /// One number of INFO.
    pub(crate) fn info(&self, section: &str, field: &str) -> u64 {
        let info = self.ask(&["INFO", section]);
        let line = info.lines().find_map(|line| line.strip_prefix(field));
        let digits: String = line
            .unwrap_or(":0")
            .trim_start_matches([':', '='])
            .trim_start_matches("calls=")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap_or(0)
    }

    /// How often a command was called since the last CONFIG RESETSTAT.
    pub(crate) fn calls(&self, command: &str) -> u64 {
        self.info("commandstats", &format!("cmdstat_{command}"))
    }

    /// Stops the process as a machine that hangs would.
    pub(crate) fn freeze(&self) {
        self.server.freeze();
    }

    pub(crate) fn thaw(&self) {
        self.server.go_on();
    }
}

/// A connection that speaks the old protocol, for questions that are not under test.
pub(crate) struct Plain(Connection);

impl Plain {
    /// The answer as text: an error with its `-`, the parts of a list in lines, `nil` for nothing.
    pub(crate) fn ask(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        String::from_utf8_lossy(&self.ask_raw(&words)).into_owned()
    }

    /// The same as bytes; none when the connection breaks, as it does for who kills itself.
    pub(crate) fn ask_raw(&mut self, words: &[&[u8]]) -> Vec<u8> {
        self.0
            .command_bytes(words)
            .map_or_else(|_| Vec::new(), bytes_of)
    }
}

fn bytes_of(answer: Value) -> Vec<u8> {
    match answer {
        Value::Text(bytes) => bytes,
        Value::Number(number) => number.to_string().into(),
        Value::List(parts) => parts
            .into_iter()
            .map(bytes_of)
            .collect::<Vec<_>>()
            .join(&b'\n'),
        Value::Nil => b"nil".to_vec(),
        Value::Error(text) => format!("-{text}").into(),
    }
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
