//! The late coordinator: what it answers to a look is what was true when it was asked.

use std::sync::Arc;

use bytes::Bytes;
use coalesce::coordination::Coordinator;
use coalesce::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, Listener, RenewAsk, Renewals,
    ReplaceAsk, Reply, ServerClock,
};
use coalesce::{Key, MemoryCoordinator};
use tokio::sync::Semaphore;

/// A coordinator whose answers to the first look come late, as they do when a packet is lost.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) memory: Arc<MemoryCoordinator>,
    pub(super) may_answer: Arc<Semaphore>,
}

impl Coordinator for Late {
    fn kind(&self) -> &'static str {
        self.memory.kind()
    }

    fn clock(&self, key: &Key) -> ServerClock {
        self.memory.clock(key)
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        Box::pin(async move {
            let answer = self.memory.read(key).await;
            drop(self.may_answer.acquire().await);
            answer
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        self.memory.begin(key, ask)
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        self.memory.renew(asks)
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        self.memory.finish(key, ask)
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        self.memory.abandon(key, ask)
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        self.memory.replace(key, ask)
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        self.memory.listen(key)
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        self.memory.listening(key)
    }

    fn subscriptions(&self) -> usize {
        self.memory.subscriptions()
    }

    fn close(&self) -> Reply<'_, ()> {
        self.memory.close()
    }
}
