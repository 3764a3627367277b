//! A coordinator whose answers get lost or take their time, and what calls leave behind then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, FinishAnswer, FinishAsk, Listener, RenewAsk,
    Renewals, ReplaceAsk, Reply, ServerClock, Status, Token,
};
use coalesce_runtime::{Coalescer, Fault, Key, MemoryCoordinator, OnRedisError};
use tokio::time::Instant;

use crate::fleet::{Failure, Ledger, MS, in_flight_only, retaining};

/// Executes every question, and loses the answers to the next few BEGINs.
#[derive(Debug, Default)]
struct Lossy {
    inner: MemoryCoordinator,
    begins: AtomicUsize,
    /// How many of the next answers to BEGIN are late.
    late: AtomicUsize,
}

impl Lossy {
    async fn pods(self: &Arc<Self>) -> [Coalescer; 2] {
        let pod = || Coalescer::builder().coordinator(self.clone()).build();
        [pod().await.unwrap(), pod().await.unwrap()]
    }

    fn lose_next(&self) {
        self.begins.store(1, Ordering::SeqCst);
    }

    fn delay_next(&self) {
        self.late.store(1, Ordering::SeqCst);
    }
}

impl Coordinator for Lossy {
    fn kind(&self) -> &'static str {
        "lossy"
    }

    fn clock(&self, key: &Key) -> ServerClock {
        self.inner.clock(key)
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        Box::pin(async {
            // Long enough for a caller to go away, or to be polled no more.
            tokio::time::sleep(MS).await;
            self.inner.read(key).await
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        Box::pin(async move {
            let answer = self.inner.begin(key, ask).await;
            let left = self.begins.load(Ordering::SeqCst);
            if left == 0 {
                if self.late.swap(0, Ordering::SeqCst) > 0 {
                    tokio::time::sleep(200 * MS).await;
                }
                return answer;
            }
            self.begins.store(left - 1, Ordering::SeqCst);
            tokio::time::sleep(250 * MS).await;
            Err(Fault::Timeout)
        })
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        self.inner.renew(asks)
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        Box::pin(async move {
            let answer = self.inner.finish(key, ask).await;
            if ask.envelope.status == Status::Failed {
                // The way back is long.
                tokio::time::sleep(200 * MS).await;
            }
            answer
        })
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        Box::pin(async move {
            let answer = self.inner.abandon(key, ask).await;
            // The way back is long.
            tokio::time::sleep(200 * MS).await;
            answer
        })
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

#[tokio::test(start_paused = true)]
async fn followers_of_a_lock_whose_grant_was_lost_get_the_outcome_when_the_body_ends() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let pods = lossy.pods().await;
    let call = |pod: usize| {
        let (pod, ledger) = (pods[pod].clone(), ledger.clone());
        tokio::spawn(async move {
            pod.call("n")
                .key(1)
                .run(move || async move { ledger.run(100 * MS).await })
                .await
        })
    };
    lossy.lose_next();
    let begun = Instant::now();
    let granted = call(0);
    tokio::time::sleep(MS).await;
    let follower = call(1);
    assert_eq!((granted.await.unwrap(), begun.elapsed()), (1, 350 * MS));
    assert_eq!(follower.await.unwrap(), 1);
    assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lock_whose_grant_was_lost_is_freed_by_a_call_that_would_rather_fail() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let [one, two] = lossy.pods().await;
    let call = |pod: &Coalescer| {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        let policy = in_flight_only(30_000, 45_000).on_redis_error(OnRedisError::Fail);
        call.policy(policy)
            .try_run(move || async move { Ok::<_, Failure>(ledger.run(MS).await) })
    };
    lossy.lose_next();
    assert!(call(&one).await.is_err());
    assert_eq!(one.counts().failed, 1);
    let begun = Instant::now();
    assert_eq!(call(&two).await, Ok(1));
    assert!(begun.elapsed() < 400 * MS, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_a_refresh_was_granted_in_vain_is_freed() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let [one, two] = lossy.pods().await;
    let call = |pod: &Coalescer| {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        call.policy(retaining(1_000, 60_000))
            .run(move || async move { ledger.run(MS).await })
    };
    assert_eq!(call(&one).await, 1);
    tokio::time::sleep(2_000 * MS).await;
    lossy.lose_next();
    assert_eq!(call(&one).await, 1);
    tokio::time::sleep(300 * MS).await;
    assert_eq!(call(&two).await, 1);
    tokio::time::sleep(100 * MS).await;
    assert_eq!(call(&two).await, 2, "the other process has refreshed it");
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_being_freed_is_not_renewed() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let [one, two] = lossy.pods().await;
    // The beat of the first second comes while the answer to ABANDON is on its way.
    let body = ledger.clone();
    let call = one.call("n").key(1).run(move || async move {
        let run = body.run(950 * MS).await;
        assert_eq!(run, 0, "always");
        run
    });
    assert!(tokio::spawn(call).await.is_err());
    tokio::time::sleep(300 * MS).await;
    let begun = Instant::now();
    let call = two.call("n").key(1);
    assert_eq!(
        call.run(move || async move { ledger.run(MS).await }).await,
        2
    );
    assert_eq!(begun.elapsed(), MS);
}

#[tokio::test(start_paused = true)]
async fn the_lock_of_a_failed_refresh_is_not_renewed_while_it_is_freed() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let [one, two] = lossy.pods().await;
    let call = |pod: &Coalescer| {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        call.policy(retaining(1_000, 3_000))
            .try_run(move || async move {
                let run = ledger.run(950 * MS).await;
                if run == 2 {
                    return Err(Failure::Body("down".into()));
                }
                Ok(run)
            })
    };
    assert_eq!(call(&one).await, Ok(1));
    tokio::time::sleep(1_000 * MS).await;
    assert_eq!(call(&one).await, Ok(1));
    // The refresh has failed, and then the value is too old for anybody.
    tokio::time::sleep(2_000 * MS).await;
    let begun = Instant::now();
    assert_eq!(call(&two).await, Ok(3));
    assert_eq!(begun.elapsed(), 951 * MS, "a look and a run");
}

/// The grace is over while BEGIN is on its way, or its answer is lost: what it won is freed all the same.
#[tokio::test(start_paused = true)]
async fn a_shutdown_leaves_no_lock_behind_that_was_being_won() {
    for lost in [true, false] {
        let lossy = Arc::new(Lossy::default());
        let [one, two] = lossy.pods().await;
        let call = |pod: &Coalescer| {
            let call = pod.call("n").key(1);
            tokio::spawn(call.run(|| async { tokio::time::sleep(60_000 * MS).await }))
        };
        if lost {
            lossy.lose_next();
        } else {
            lossy.delay_next();
        }
        let slow = call(&one);
        tokio::time::sleep(10 * MS).await;
        one.shutdown(10 * MS).await;
        let begun = Instant::now();
        let next = two.call("n").key(1);
        next.run(|| async {}).await;
        assert_eq!(begun.elapsed(), Duration::ZERO, "lost: {lost}");
        slow.abort();
    }
}

/// A follower that would have taken over, and goes away before it hears that it has.
#[tokio::test(start_paused = true)]
async fn who_leaves_frees_a_lock_that_was_granted_in_vain() {
    let (lossy, ledger) = (Arc::new(Lossy::default()), Ledger::default());
    let [one, two] = lossy.pods().await;
    let call = |pod: &Coalescer| {
        let (call, ledger) = (pod.call("n").key(1), ledger.clone());
        tokio::spawn(call.run(move || async move { ledger.run(MS).await }))
    };
    let dead = BeginAsk {
        token: Token::random(),
        lease: 100 * MS,
        seen: None,
        following: None,
        trace: None,
    };
    lossy
        .inner
        .begin(&Key::new("n", &[&1]), &dead)
        .await
        .unwrap();
    let follower = call(&one);
    tokio::time::sleep(60 * MS).await;
    lossy.lose_next();
    // Behind the end of the lease, while the answer to the poll is on its way.
    tokio::time::sleep(200 * MS).await;
    follower.abort();
    tokio::time::sleep(200 * MS).await;
    let begun = Instant::now();
    assert_eq!(call(&two).await.unwrap(), 1);
    assert_eq!(begun.elapsed(), MS, "no lock is left");
    assert_eq!(one.in_flight(), 0);
}

/// A future that was polled and is kept: one branch of a `select!` while another one's body runs, or a
/// stream's element behind the one that is being worked on.
#[tokio::test(start_paused = true)]
async fn a_caller_that_nobody_polls_any_more_holds_up_the_others_for_a_moment_only() {
    let [pod, _] = Arc::new(Lossy::default()).pods().await;
    let call = |run: u64| {
        pod.call("n")
            .key(1)
            .policy(retaining(1_000, 1_000))
            .run(move || async move { run })
    };
    let mut silent = Box::pin(call(1));
    tokio::select! {
        biased;
        _ = &mut silent => unreachable!("it reads"),
        () = std::future::ready(()) => {}
    }
    let begun = Instant::now();
    let others = tokio::join!(call(2), call(3), call(4));
    assert!(others.0 == others.1 && others.1 == others.2);
    assert!(begun.elapsed() < 600 * MS, "{:?}", begun.elapsed());
    assert_eq!(silent.await, others.0, "it goes on when it is polled again");
    assert_eq!(pod.in_flight(), 0);
}
