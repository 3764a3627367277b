//! What every question shares: it is asked to its end, whoever asked it, and its answer is judged.

use std::sync::Arc;

use bytes::Bytes;
use fred::clients::Client;
use tokio::task::JoinHandle;

use super::client::Line;
use super::clock::Clock;
use super::health::Vitals;
use super::keyspace::Keyspace;
use super::replies::Said;
use super::script::{Call, LOOK, Script};
use crate::engine::ask::RenewAsk;
use crate::format::envelope::{Envelope, Unreadable};
use crate::words::fault::Fault;
use crate::words::key::Key;

/// Locks renewed by one run of the script: it must not keep the server from others.
const RENEWED_AT_ONCE: usize = 100;

/// What a question needs to be asked to its end, whoever asked it.
pub(super) struct Shared {
    pub(super) names: Keyspace,
    pub(super) clock: Arc<Clock>,
    pub(super) vitals: Arc<Vitals>,
    pub(super) reads: Arc<Line>,
    pub(super) scripts: Arc<Line>,
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
        let (said, sent) = self.scripts.run(script, call).await?;
        self.clock.refine(said.at, sent);
        Ok(said)
    }

    pub(super) async fn read(self: &Arc<Self>, key: &Key) -> Result<Option<Bytes>, Fault> {
        if self.clock.known().is_none() {
            // What is read now could not be judged: its age is the server's business.
            let (time, sent) = self.reads.time(&self.reads.client()).await?;
            self.clock.refine(time, sent);
        }
        let client = self.reads.client();
        let state = self.reads.get(self.names.state(key)).await?;
        match state {
            Some(bytes) if is_of_another(key, &bytes) => self.look_again(key, bytes, &client).await,
            state => Ok(state),
        }
    }

    /// Another key's envelope: either the reply was another's, or the state itself is wrong. A reply
    /// that proves whose it is tells which, so that a wrong state is a miss like any other and not an
    /// endless reconnect.
    async fn look_again(
        self: &Arc<Self>,
        key: &Key,
        first: Bytes,
        client: &Client,
    ) -> Result<Option<Bytes>, Fault> {
        let call = self.names.look(key);
        let second = answer_of(self.start(&LOOK, call, Said::look)).await;
        if second != Ok(Some(first)) {
            self.reads.distrust(client);
        }
        second
    }

    /// One run for many locks; in a cluster one for each, since a run reaches one slot.
    pub(super) fn renewals(&self, asks: &[RenewAsk]) -> Vec<(Call, usize)> {
        let at_once = if self.scripts.profile.is_clustered() {
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

fn is_of_another(key: &Key, state: &Bytes) -> bool {
    Envelope::decode(key, state) == Err(Unreadable::OtherKey)
}
