//! What every question shares: it is asked to its end, whoever asked it, and its answer is judged.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use tokio::task::JoinHandle;

use super::keyspace::{Keyspace, slot_of};
use super::node::Node;
use super::nodes::Nodes;
use super::replies::Said;
use super::script::{Call, LOOK, Script};
use crate::engine::ask::RenewAsk;
use crate::format::envelope::Envelope;
use crate::words::fault::Fault;
use crate::words::key::Key;

/// Locks renewed by one run of the script: it must not keep the server from others.
const RENEWED_AT_ONCE: usize = 100;

/// What a question needs to be asked to its end, whoever asked it.
pub(super) struct Shared {
    pub(super) names: Keyspace,
    pub(super) nodes: Arc<Nodes>,
}

impl Shared {
    /// Runs a script in a task of its own: the question is asked to its end, whether or not somebody
    /// still waits for the answer.
    pub(super) fn start<A: Send + 'static>(
        self: &Arc<Self>,
        script: &'static Script,
        call: Call,
        decode: impl FnOnce(Said) -> Result<A, Fault> + Send + 'static,
    ) -> JoinHandle<Result<A, Fault>> {
        let shared = Arc::clone(self);
        tokio::spawn(async move { shared.run(script, call).await.and_then(decode) })
    }

    async fn run(&self, script: &Script, call: Call) -> Result<Said, Fault> {
        let run = |node: Arc<Node>, turn| {
            let call = &call;
            async move { node.run(script, call, turn).await }
        };
        self.nodes.ask(call.slot, self.deadline(), run).await
    }

    /// How long one question may take.
    pub(super) fn deadline(&self) -> Duration {
        self.nodes.profile.deadline()
    }

    pub(super) async fn read(self: &Arc<Self>, key: &Key) -> Result<Option<Bytes>, Fault> {
        let name = self.names.state(key);
        let read = |node: Arc<Node>, turn| {
            let name = name.clone();
            async move { Ok((node.read(name, turn).await?, node)) }
        };
        let asked = self.nodes.ask(slot_of(key), self.deadline(), read);
        match asked.await? {
            ((Some(bytes), client), node) if !is_ours(key, &bytes) => {
                self.look_again(key, bytes, &node, &client).await
            }
            ((state, _), _) => Ok(state),
        }
    }

    /// No envelope of this key: either the reply was another's, of another key or of no state at all, or the state
    /// itself is wrong. A reply that proves whose it is tells which, so that a wrong state is a miss like any other
    /// and not an endless reconnect.
    async fn look_again(
        self: &Arc<Self>,
        key: &Key,
        first: Bytes,
        node: &Node,
        client: &Client,
    ) -> Result<Option<Bytes>, Fault> {
        let call = self.names.look(key, self.nodes.profile.last_byte());
        // That scripts have no answer says nothing about this connection.
        let second = answer_of(self.start(&LOOK, call, Said::look)).await?;
        if second.as_ref() != Some(&first) {
            node.reads.distrust(client);
        }
        Ok(second)
    }

    /// One run for many locks; in a cluster one for each, since a run reaches one slot.
    pub(super) fn renewals(&self, asks: &[RenewAsk]) -> Vec<(Call, usize)> {
        let at_once = if self.nodes.is_clustered() {
            1
        } else {
            RENEWED_AT_ONCE
        };
        let runs = asks.chunks(at_once);
        runs.map(|run| (self.names.renew(run), run.len())).collect()
    }
}

/// What a started question came to. It is lost only when the runtime goes away.
pub(super) async fn answer_of<A>(asked: JoinHandle<Result<A, Fault>>) -> Result<A, Fault> {
    asked.await.unwrap_or(Err(Fault::Disconnected))
}

fn is_ours(key: &Key, state: &Bytes) -> bool {
    Envelope::decode(key, state).is_ok()
}
