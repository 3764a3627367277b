//! The in-memory coordinator of simulated pods, with a count of the states it stores.

use std::sync::atomic::{AtomicU64, Ordering};

use coalesce::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, FinishAnswer, FinishAsk, Listener, RenewAsk,
    Renewals, ReplaceAsk, Reply, ServerClock,
};
use coalesce::{Key, MemoryCoordinator};

/// Counts the states stored for one namespace.
#[derive(Debug)]
pub struct Counted {
    inner: MemoryCoordinator,
    namespace: String,
    state_writes: AtomicU64,
}

impl Counted {
    pub fn new(namespace: &str) -> Self {
        Self {
            inner: MemoryCoordinator::new(),
            namespace: namespace.to_owned(),
            state_writes: AtomicU64::new(0),
        }
    }

    pub fn state_writes(&self) -> u64 {
        self.state_writes.load(Ordering::Relaxed)
    }
}

impl Coordinator for Counted {
    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        Box::pin(async move {
            let answer = self.inner.finish(key, ask).await?;
            if answer == FinishAnswer::Stored && **key.namespace() == self.namespace {
                self.state_writes.fetch_add(1, Ordering::Relaxed);
            }
            Ok(answer)
        })
    }

    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn clock(&self, key: &Key) -> ServerClock {
        self.inner.clock(key)
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<bytes::Bytes>> {
        self.inner.read(key)
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        self.inner.begin(key, ask)
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        self.inner.renew(asks)
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        self.inner.abandon(key, ask)
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        self.inner.replace(key, ask)
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        self.inner.listen(key)
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        self.inner.listening(key)
    }

    fn subscriptions(&self) -> usize {
        self.inner.subscriptions()
    }

    fn close(&self) -> Reply<'_, ()> {
        self.inner.close()
    }
}
