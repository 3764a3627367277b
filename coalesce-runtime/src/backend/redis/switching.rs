//! The kill switch in Redis: a hash, a channel of the same name, and the namespaces that there are to switch.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fred::util::redis_keyslot;

use super::RedisCoordinator;
use super::node::Node;
use super::redirect::{Setback, Turn};
use super::replies::Said;
use super::script::{ANNOUNCE, SWITCH};
use crate::ports::coordinator::{Listener, Reply};
use crate::words::fault::Fault;
use crate::words::switch::switch_key;

/// Names in one run of the script: it must not keep the server from others.
const NAMES_AT_ONCE: usize = 100;

impl RedisCoordinator {
    pub(super) fn read_switches(&self) -> Reply<'_, Vec<(String, String)>> {
        let name = self.0.shared.names.switch();
        Box::pin(self.at(name, |node, name, turn| async move {
            node.reads.hash(name, turn).await
        }))
    }

    pub(super) fn write_switch(
        &self,
        field: &str,
        text: Option<&str>,
    ) -> Reply<'_, Option<String>> {
        let call = self.0.shared.names.switched(field, text);
        let as_text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        self.ask(&SWITCH, call, move |said: Said| {
            Ok(said.look()?.map(as_text))
        })
    }

    pub(super) fn write_names<'a>(&'a self, names: &'a [String], life: Duration) -> Reply<'a, ()> {
        Box::pin(async move {
            for some in names.chunks(NAMES_AT_ONCE) {
                let call = self.0.shared.names.announced(some, life);
                let said = self.ask(&ANNOUNCE, call, Said::yes_or_no);
                said.await?;
            }
            Ok(())
        })
    }

    pub(super) fn read_names(&self) -> Reply<'_, Vec<String>> {
        let name = self.0.shared.names.known();
        Box::pin(self.at(name, |node, name, turn| async move {
            node.reads.members(name, turn).await
        }))
    }

    /// Reads what has this name, at the server that has it.
    async fn at<A, F>(
        &self,
        name: String,
        read: impl Fn(Arc<Node>, String, Turn) -> F,
    ) -> Result<A, Fault>
    where
        F: Future<Output = Result<A, Setback>>,
    {
        let shared = &self.0.shared;
        let slot = redis_keyslot(name.as_bytes());
        let read = |node, turn| read(node, name.clone(), turn);
        shared.nodes.ask(slot, shared.deadline(), read).await
    }

    pub(super) fn hear_of_switches(&self) -> Reply<'_, Listener> {
        Box::pin(async move {
            let name = self.0.shared.names.switch();
            self.0.shared.nodes.listen(&name, switch_key()).await
        })
    }

    /// The channels of keys: all but the switch's.
    pub(super) fn key_subscriptions(&self) -> usize {
        let nodes = &self.0.shared.nodes;
        let switch = nodes.has_channel(&self.0.shared.names.switch());
        nodes.channels().saturating_sub(usize::from(switch))
    }
}
