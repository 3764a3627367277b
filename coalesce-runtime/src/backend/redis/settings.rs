//! What an application says about its Redis.

use std::fmt;
use std::time::Duration;

/// Where Redis is, and how this application uses it.
///
/// ```
/// use std::time::Duration;
///
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::RedisSettings;
///
/// let settings = RedisSettings::new("redis://localhost:6379")
///     .prefix("shop")
///     .deadline(Duration::from_millis(100));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RedisSettings {
    pub(super) url: String,
    pub(super) prefix: String,
    pub(super) deadline: Duration,
    pub(super) linger: Duration,
}

impl RedisSettings {
    /// How long one question may take, unless set.
    pub(crate) const DEADLINE: Duration = Duration::from_millis(250);

    /// The default settings at `url`.
    ///
    /// | form | meaning |
    /// |---|---|
    /// | `redis://user:password@host:6379/0` | one server, database 0 |
    /// | `redis-cluster://host:6379?node=host2:6379` | a cluster, with any number of seed nodes |
    /// | `redis-sentinel://host:26379?sentinelServiceName=main` | the server that sentinels name |
    ///
    /// `rediss` instead of `redis` uses TLS and needs the cargo feature `tls`. Characters such as
    /// `/ ? # @ %` in a password are percent-encoded.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            prefix: "coalesce".to_owned(),
            deadline: Self::DEADLINE,
            linger: Duration::from_secs(10),
        }
    }

    /// The first part of every name in Redis. Applications with different prefixes share nothing.
    /// `coalesce` unless set.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }

    /// How long one question to Redis may take, 250 ms unless set. At least three round trips; more than an hour
    /// is an hour.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// How long a subscription stays after its last listener, 10 s unless set: a key that is
    /// contended again within that time costs no new one.
    #[must_use]
    pub fn linger(self, linger: Duration) -> Self {
        Self { linger, ..self }
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL holds a password.
        f.debug_struct("RedisSettings")
            .field("prefix", &self.prefix)
            .field("deadline", &self.deadline)
            .field("linger", &self.linger)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_hides_the_url() {
        let settings = RedisSettings::new("redis://app:hunter2@host");
        assert!(!format!("{settings:?}").contains("hunter2"));
        assert!(!format!("{settings:?}").contains("app"));
    }
}
