//! What an operator's tool asks of the server, beside what a coalescer asks of it.

use std::time::Duration;

use bytes::Bytes;
use fred::interfaces::ClientLike as _;
use fred::types::config::Options;
use fred::types::{ClusterHash, CustomCommand, Value};

use super::RedisCoordinator;
use crate::words::key::Key;

/// A reply in plain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Nothing,
    Number(i64),
    Text(Bytes),
    List(Vec<Plain>),
}

impl RedisCoordinator {
    /// One command, sent to the node of `name` or, without one, to any. An error is what the server said.
    pub(crate) async fn plain(
        &self,
        words: &[&str],
        name: Option<&[u8]>,
        patience: Duration,
    ) -> Result<Plain, String> {
        let slot = fred::util::redis_keyslot(name.unwrap_or_default());
        let [command, args @ ..] = words else {
            return Ok(Plain::Nothing);
        };
        let command = CustomCommand::new((*command).to_owned(), ClusterHash::Custom(slot), false);
        let args: Vec<_> = args.iter().map(|word| Value::from(*word)).collect();
        let client = self.0.shared.reads.client();
        let limited = client.with_options(&limits(patience));
        let reply = limited.custom(command, args).await;
        reply
            .map(plain)
            .map_err(|error: fred::error::Error| error.details().to_owned())
    }

    /// Says something on a channel. Of a cluster every node passes it on.
    pub(crate) async fn say(&self, channel: &str, message: Bytes) -> Result<(), String> {
        let args = vec![Value::from(channel), Value::Bytes(message)];
        let slot = ClusterHash::Custom(fred::util::redis_keyslot(channel.as_bytes()));
        let command = CustomCommand::new_static("PUBLISH", slot, false);
        let client = self.0.shared.scripts.client();
        let limited = client.with_options(&limits(super::FIRST_CONNECTION));
        let heard: Result<Value, _> = limited.custom(command, args).await;
        heard.map(drop).map_err(|error| error.details().to_owned())
    }

    /// Whether it talks to a cluster.
    pub(crate) fn is_clustered(&self) -> bool {
        self.0.shared.reads.profile.is_clustered()
    }

    /// The names of a key: lock, state and channel.
    pub(crate) fn names_of(&self, key: &Key) -> [String; 3] {
        let names = &self.0.shared.names;
        let text = |name: Bytes| String::from_utf8_lossy(&name).into_owned();
        [
            text(names.lock(key)),
            text(names.state(key)),
            names.channel(key),
        ]
    }

    /// The name of the switch, and of the channel on which its changes are told.
    pub(crate) fn switch_name(&self) -> String {
        self.0.shared.names.switch()
    }

    /// The name of the set of known namespaces.
    pub(crate) fn known_name(&self) -> String {
        self.0.shared.names.known()
    }
}

impl Plain {
    /// Its text, when it is one.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// Its number, also when it is written in digits.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            other => other.text()?.parse().ok(),
        }
    }

    /// Its parts; none when it is no list.
    pub(crate) fn list(&self) -> &[Self] {
        match self {
            Self::List(parts) => parts,
            _ => &[],
        }
    }
}

fn limits(patience: Duration) -> Options {
    Options {
        timeout: Some(patience),
        fail_fast: true,
        ..Options::default()
    }
}

fn plain(value: Value) -> Plain {
    match value {
        Value::Integer(number) => Plain::Number(number),
        Value::Boolean(yes) => Plain::Number(i64::from(yes)),
        Value::Bytes(bytes) => Plain::Text(bytes),
        Value::String(text) => Plain::Text(text.into_inner()),
        Value::Double(number) => Plain::Text(number.to_string().into()),
        Value::Array(parts) => Plain::List(parts.into_iter().map(plain).collect()),
        Value::Map(map) => {
            let pairs = map.inner().into_iter();
            let flat = pairs.flat_map(|(key, value)| [Value::Bytes(key.into_bytes()), value]);
            Plain::List(flat.map(plain).collect())
        }
        Value::Null | Value::Queued => Plain::Nothing,
    }
}
