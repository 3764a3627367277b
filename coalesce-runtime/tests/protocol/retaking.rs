//! A lock that is gone: for how long its flight may take it again without undoing what happened since.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, Coordinator, FinishAnswer, FinishAsk, Listener, RenewAsk, Renewals,
    ReplaceAsk, Reply, ServerClock, Token,
};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator};
use tokio::time::Instant;

use crate::fleet::{Ledger, MS};

/// One pod's way to the coordinator, which can be cut.
#[derive(Debug)]
struct Way {
    inner: MemoryCoordinator,
    cut: AtomicBool,
}

impl Way {
    fn pass<'a, A: Send + 'a>(&self, answer: Reply<'a, A>) -> Reply<'a, A> {
        if self.cut.load(Ordering::SeqCst) {
            Box::pin(std::future::ready(Err(Fault::Disconnected)))
        } else {
            answer
        }
    }
}

impl Coordinator for Way {
    fn kind(&self) -> &'static str {
        "memory behind a way that can be cut"
    }

    fn clock(&self) -> ServerClock {
        self.inner.clock()
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        self.pass(self.inner.read(key))
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        self.pass(self.inner.begin(key, ask))
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        self.pass(self.inner.renew(asks))
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        self.pass(self.inner.finish(key, ask))
    }

    fn abandon<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, bool> {
        self.pass(self.inner.abandon(key, token))
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        self.pass(self.inner.replace(key, ask))
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        self.pass(self.inner.listen(key))
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

async fn pod(coordinator: Arc<dyn Coordinator>) -> Coalescer {
    Coalescer::builder()
        .coordinator(coordinator)
        .build()
        .await
        .unwrap()
}

async fn call(pod: Coalescer, ledger: Ledger, span: u32) -> u64 {
    pod.call("n")
        .key(1)
        .run(move || async move { ledger.run(span * MS).await })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_takes_its_lock_again_while_the_state_can_tell_that_nothing_happened()
 {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let cut = AtomicBool::new(false);
    let way = Arc::new(Way {
        inner: inner.clone(),
        cut,
    });
    let one = pod(way.clone()).await;
    let slow = tokio::spawn(call(one, ledger, 8_000));
    tokio::time::sleep(1_500 * MS).await;
    way.cut.store(true, Ordering::SeqCst);
    // The lease has ended by then.
    tokio::time::sleep(3_200 * MS).await;
    way.cut.store(false, Ordering::SeqCst);
    assert_eq!(slow.await.unwrap(), 1);
    let state = inner.read(&Key::new("n", &[&1])).await.unwrap();
    assert!(state.is_some(), "a value that was computed is kept");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_for_longer_undoes_no_outcome_that_came_and_went() {
    let (inner, ledger) = (MemoryCoordinator::new(), Ledger::default());
    let cut = AtomicBool::new(false);
    let way = Arc::new(Way {
        inner: inner.clone(),
        cut,
    });
    let (one, two) = (pod(way.clone()).await, pod(Arc::new(inner.clone())).await);
    let slow = tokio::spawn(call(one, ledger.clone(), 20_000));
    tokio::time::sleep(500 * MS).await;
    way.cut.store(true, Ordering::SeqCst);
    tokio::time::sleep(4_500 * MS).await;
    // Another flight's outcome comes, is kept for its delivery, and goes.
    assert_eq!(call(two.clone(), ledger.clone(), 100).await, 2);
    tokio::time::sleep(9_900 * MS).await;
    way.cut.store(false, Ordering::SeqCst);
    tokio::time::sleep(2_000 * MS).await;
    let begun = Instant::now();
    assert_eq!(call(two, ledger, 100).await, 3);
    assert_eq!(begun.elapsed(), 100 * MS, "nobody holds the lock");
    tokio::time::sleep(6_000 * MS).await;
    assert_eq!(slow.await.unwrap(), 1, "its own caller gets its own value");
    let state = inner.read(&Key::new("n", &[&1])).await.unwrap();
    assert_eq!(state, None, "the older outcome is not the newest");
}
