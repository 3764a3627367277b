//! What an operator's tool asks of the server, beside what a coalescer asks of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::types::{ClusterHash, CustomCommand, Value};
use fred::util::redis_keyslot;

use super::client::{Line, ask};
use super::node::Node;
use super::redirect::{Setback, Turn};
use super::slots::Place;
use super::{FIRST_CONNECTION, RedisCoordinator};
use crate::words::clock::ServerClock;
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
        let slot = name.map_or_else(|| self.0.shared.nodes.well_slot(), redis_keyslot);
        self.plain_at(slot, words, patience).await
    }

    /// One command, sent to the node that serves a slot.
    pub(crate) async fn plain_at(
        &self,
        slot: u16,
        words: &[&str],
        patience: Duration,
    ) -> Result<Plain, String> {
        let [command, args @ ..] = words else {
            return Ok(Plain::Nothing);
        };
        let args = args.iter().map(|word| Value::from(*word)).collect();
        self.put(slot, patience, (*command, args), |node| &node.reads)
            .await
    }

    /// Says something on a channel, at the node that those who listen on it are at.
    pub(crate) async fn say(&self, channel: &str, message: Bytes) -> Result<(), String> {
        let slot = redis_keyslot(channel.as_bytes());
        let publish = ("PUBLISH", vec![Value::from(channel), Value::Bytes(message)]);
        let told = self.put(slot, FIRST_CONNECTION, publish, |node| &node.scripts);
        told.await.map(drop)
    }

    /// Puts one command to the node that serves a slot, on one of its lines.
    async fn put(
        &self,
        slot: u16,
        patience: Duration,
        (name, args): (&str, Vec<Value>),
        line: fn(&Node) -> &Line,
    ) -> Result<Plain, String> {
        let nodes = &self.0.shared.nodes;
        let asked = nodes.ask(slot, patience, |node: Arc<Node>, turn| {
            let command = CustomCommand::new(name.to_owned(), ClusterHash::FirstKey, false);
            let args = args.clone();
            async move { said(line(&node).client(), (command, args), turn).await }
        });
        asked.await.map_err(|fault| fault.to_string())?
    }

    /// The primaries of a cluster, each with a slot that it serves; none where there is no cluster.
    pub(crate) fn primaries(&self) -> Vec<(String, u16)> {
        let nodes = &self.0.shared.nodes;
        if !nodes.is_clustered() {
            return Vec::new();
        }
        let table = &nodes.map().table;
        let with_slot = |place| Some((Place::to_string(place), table.slot_at(place)?));
        table.primaries().iter().filter_map(with_slot).collect()
    }

    /// How many slots of a cluster some node serves.
    pub(crate) fn assigned_slots(&self) -> usize {
        self.0.shared.nodes.map().table.assigned()
    }

    /// Whether it talks to a cluster.
    pub(crate) fn is_clustered(&self) -> bool {
        self.0.shared.nodes.is_clustered()
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

    /// The clock of the server that has `name`.
    pub(crate) fn clock_of(&self, name: &str) -> ServerClock {
        self.0.shared.nodes.clock(redis_keyslot(name.as_bytes()))
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

/// What a server said to a command, unless it named another server.
async fn said(
    client: Client,
    command: (CustomCommand, Vec<Value>),
    turn: Turn,
) -> Result<Result<Plain, String>, Setback> {
    match ask(&client, command, turn).await {
        Ok(value) => Ok(Ok(plain(value))),
        Err(error) => match Setback::from(&error) {
            Setback::Fault(_) | Setback::Copy => Ok(Err(error.details().to_owned())),
            elsewhere => Err(elsewhere),
        },
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
