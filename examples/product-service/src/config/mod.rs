//! The configuration of a replica: from the environment, all that is wrong at once, shown without secrets.

mod reader;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use coalesce::admin::AdminAccess;
use url::Url;

use crate::limiter::Limit;
use reader::Reader;

/// What a replica is told.
#[derive(Clone)]
pub struct Config {
    /// Its name, in the header `X-Instance`.
    pub instance: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The database.
    pub database_url: Url,
    /// How long a start waits for a database that is not there yet.
    pub database_wait: Duration,
    /// The Redis that the replicas share.
    pub redis_url: Url,
    /// How long a product is served without another look.
    pub fresh_ttl: Duration,
    /// How soon a leader that died is replaced: the life of its lock, which it renews while it lives.
    pub pending_ttl: Duration,
    /// How long one read may hold its product. Longer than the lock, and shorter than a caller's patience.
    pub read_limit: Duration,
    /// How long a caller waits for another's read.
    pub wait_timeout: Duration,
    /// How long Redis may take for one question. Clients are promised a 503 within 2 s; a shorter deadline takes a busy
    /// machine for a dead Redis, and its callers get that 503.
    pub redis_deadline: Duration,
    /// What a read does while Redis gives no answer.
    pub on_redis_error: OnRedisError,
    /// How many product reads may come.
    pub limit: Limit,
    /// Whose product reads are counted together.
    pub rate_by: RateBy,
    /// How long the limiter waits for a silent Redis.
    pub limiter_deadline: Duration,
    /// The proxy that is believed whom a request comes from.
    pub trusted_proxy: Option<IpAddr>,
    /// How much longer a read of the database takes.
    pub database_delay: Duration,
    /// Whether each read and write of the database fails.
    pub database_fails: bool,
    /// The token of the admin routes; without one there are none.
    pub admin_token: Option<String>,
    /// How long a replica that is told to end still takes requests: until the proxy knows.
    pub drain_delay: Duration,
    /// How long the requests in progress then have.
    pub drain_timeout: Duration,
}

/// What a read does while Redis gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRedisError {
    /// It fails.
    Fail,
    /// It asks the database, once per replica and product.
    Open,
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateBy {
    /// Everybody's.
    Global,
    /// Those of one address.
    Client,
}

/// The words for each; the first is what counts when nothing is said.
const ON_REDIS_ERROR: [(&str, OnRedisError); 2] =
    [("fail", OnRedisError::Fail), ("open", OnRedisError::Open)];
const RATE_BY: [(&str, RateBy); 2] = [("global", RateBy::Global), ("client", RateBy::Client)];

/// Everything that is wrong with an environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration is wrong: {}", .0.join("; "))]
pub struct ConfigError(pub Vec<String>);

impl Config {
    /// The configuration that the process's environment holds.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it. No value of a secret is in the message.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// The configuration that `lookup` finds the values of.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it. No value of a secret is in the message.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut reader = Reader::new(&lookup);
        let config = Self::read_with(&mut reader);
        config
            .filter(|_| reader.problems.is_empty())
            .ok_or(ConfigError(reader.problems))
    }

    fn read_with(from: &mut Reader<'_>) -> Option<Self> {
        // Each line reads, and notes what is wrong; only then the first that is missing ends it.
        let instance = from.text("INSTANCE").unwrap_or_else(host_name);
        let listen = from.parsed("LISTEN", "0.0.0.0:8080", "an address and a port");
        let database_url = from.url("DATABASE_URL", None, &["postgres", "postgresql"]);
        let database_wait = from.duration("DATABASE_WAIT", "30s");
        let redis_url = from.url("REDIS_URL", Some("redis://127.0.0.1:6379"), &["redis"]);
        let fresh_ttl = from.duration("FRESH_TTL", "10s");
        let pending_ttl = from.duration("PENDING_TTL", "5s");
        let read_limit = from.duration("READ_LIMIT", "7s");
        let wait_timeout = from.duration("WAIT_TIMEOUT", "8s");
        let redis_deadline = from.duration("REDIS_DEADLINE", "500ms");
        let on_redis_error = from.one_of("ON_REDIS_ERROR", &ON_REDIS_ERROR);
        let limit = from.parsed("RATE_LIMIT", "0", "a number of requests");
        let window = from.duration("RATE_WINDOW", "10s");
        let rate_by = from.one_of("RATE_BY", &RATE_BY);
        let limiter_deadline = from.duration("LIMITER_DEADLINE", "150ms");
        let trusted_proxy = from.optional("TRUSTED_PROXY", "an IP address");
        let database_delay = from.duration("DATABASE_DELAY", "0ms");
        let database_fails = from.parsed("DATABASE_FAILS", "false", "`true` or `false`");
        let drain_delay = from.duration("DRAIN_DELAY", "1s");
        let drain_timeout = from.duration("DRAIN_TIMEOUT", "8s");
        let admin_token = from.text("ADMIN_TOKEN").filter(|token| !token.is_empty());
        let shortest = AdminAccess::SHORTEST_TOKEN;
        if admin_token
            .as_ref()
            .is_some_and(|token| token.len() < shortest)
        {
            let problem = format!("ADMIN_TOKEN has fewer than {shortest} bytes");
            from.problems.push(problem);
        }
        let limit = Limit {
            limit: limit?,
            window_ms: u64::try_from(window?.as_millis()).unwrap_or(u64::MAX),
        };
        if let Err(problem) = limit.check() {
            from.problems.push(format!("RATE_WINDOW: {problem}"));
        }
        Some(Self {
            instance,
            listen: listen?,
            database_url: database_url?,
            database_wait: database_wait?,
            redis_url: redis_url?,
            fresh_ttl: fresh_ttl?,
            pending_ttl: pending_ttl?,
            read_limit: read_limit?,
            wait_timeout: wait_timeout?,
            redis_deadline: redis_deadline?,
            on_redis_error: on_redis_error?,
            limit,
            rate_by: rate_by?,
            limiter_deadline: limiter_deadline?,
            trusted_proxy,
            database_delay: database_delay?,
            database_fails: database_fails?,
            admin_token,
            drain_delay: drain_delay?,
            drain_timeout: drain_timeout?,
        })
    }
}

impl OnRedisError {
    /// The library's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Open => "run",
        }
    }
}

/// One line, in the words of the environment.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "INSTANCE={} LISTEN={}", self.instance, self.listen)?;
        write!(f, " DATABASE_URL={}", masked(&self.database_url))?;
        write!(f, " REDIS_URL={}", masked(&self.redis_url))?;
        for (name, duration) in [
            ("FRESH_TTL", self.fresh_ttl),
            ("PENDING_TTL", self.pending_ttl),
            ("READ_LIMIT", self.read_limit),
            ("WAIT_TIMEOUT", self.wait_timeout),
            ("REDIS_DEADLINE", self.redis_deadline),
            ("RATE_WINDOW", Duration::from_millis(self.limit.window_ms)),
            ("LIMITER_DEADLINE", self.limiter_deadline),
            ("DATABASE_WAIT", self.database_wait),
            ("DATABASE_DELAY", self.database_delay),
            ("DRAIN_DELAY", self.drain_delay),
            ("DRAIN_TIMEOUT", self.drain_timeout),
        ] {
            write!(f, " {name}={}", humantime::format_duration(duration))?;
        }
        let on_redis_error = word_of(&ON_REDIS_ERROR, self.on_redis_error);
        let rate_by = word_of(&RATE_BY, self.rate_by);
        write!(f, " ON_REDIS_ERROR={on_redis_error} RATE_BY={rate_by}")?;
        write!(f, " RATE_LIMIT={}", self.limit.limit)?;
        write!(f, " DATABASE_FAILS={}", self.database_fails)?;
        match self.trusted_proxy {
            Some(proxy) => write!(f, " TRUSTED_PROXY={proxy}")?,
            None => f.write_str(" TRUSTED_PROXY=none")?,
        }
        let token = self.admin_token.as_ref().map_or("none", |_| "***");
        write!(f, " ADMIN_TOKEN={token}")
    }
}

/// What `{:?}` shows is shown somewhere, some day.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config({self})")
    }
}

/// A URL without its password. What follows a `?` can hold one as well.
fn masked(url: &Url) -> String {
    let mut shown = url.clone();
    if shown.password().is_some() {
        // It has a host, so it can have a password.
        let _ = shown.set_password(Some("***"));
    }
    if shown.query().is_some() {
        shown.set_query(Some("***"));
    }
    shown.to_string()
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], meaning: T) -> &'static str {
    let found = words.iter().find(|(_, means)| *means == meaning);
    found.map_or("", |(word, _)| word)
}

fn host_name() -> String {
    let name = hostname::get()
        .ok()
        .and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| "local".to_owned())
}

#[cfg(test)]
mod tests;
