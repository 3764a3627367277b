//! M48 to M53, M59 to M64, M66: what happens when an annotated function runs.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coalesce::coalesce;
use serde::{Deserialize, Serialize, Serializer};
use tokio::sync::Semaphore;

use super::{ready, soon};

#[coalesce]
async fn m48(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        Box::pin(m48(n - 1)).await + Box::pin(m48(n - 2)).await
    }
}

#[coalesce(key = "one", skip(again))]
async fn m48_itself(again: bool) -> u64 {
    if again {
        Box::pin(m48_itself(false)).await
    } else {
        7
    }
}

#[tokio::test]
async fn m48_recursion_ends_also_under_its_own_key() {
    ready().await;
    assert_eq!(soon(m48(7)).await, 13);
    assert_eq!(soon(m48_itself(true)).await, 7);
}

#[coalesce(key = "x", namespace = "m49")]
async fn m49_outer() -> u64 {
    m49_inner().await + 1
}

#[coalesce(key = "x", namespace = "m49")]
async fn m49_inner() -> u64 {
    1
}

#[tokio::test]
async fn m49_a_flight_that_reaches_its_own_key_does_not_wait_for_itself() {
    ready().await;
    assert_eq!(soon(m49_outer()).await, 2);
}

#[coalesce]
async fn m50_send(id: u64) -> u64 {
    tokio::task::yield_now().await;
    id
}

#[coalesce(inline)]
async fn m50_not_send(id: u64) -> u64 {
    let shared = Rc::new(id);
    tokio::task::yield_now().await;
    *shared
}

#[tokio::test]
async fn m50_futures_are_send_where_their_bodies_are() {
    const fn sent<T: Send>(future: T) -> T {
        future
    }
    ready().await;
    assert_eq!((sent(m50_send(1)).await, m50_not_send(1).await), (1, 1));
}

async fn m53_plain(id: u64) -> u64 {
    tokio::task::yield_now().await;
    id
}

async fn m53_plain_large(id: u64) -> u64 {
    let large = [id; 1024];
    tokio::task::yield_now().await;
    large[7]
}

#[coalesce]
async fn m53_large(id: u64) -> u64 {
    let large = [id; 1024];
    tokio::task::yield_now().await;
    large[7]
}

#[coalesce(inline, fresh_ttl = "1m")]
async fn m53_inline(id: u64) -> u64 {
    tokio::task::yield_now().await;
    id
}

#[coalesce(fresh_ttl = "1m", stale_ttl = "2m", entry = m53_entry)]
async fn m53_with_entry(id: u64) -> u64 {
    tokio::task::yield_now().await;
    id
}

#[tokio::test]
async fn m53_a_future_is_at_most_a_kibibyte_larger() {
    ready().await;
    let plain = size_of_val(&m53_plain(1));
    let sizes = [
        size_of_val(&m50_send(1)),
        size_of_val(&m53_inline(1)),
        size_of_val(&m53_with_entry(1)),
    ];
    assert!(
        sizes.iter().all(|size| *size <= plain + 1024),
        "{plain}: {sizes:?}"
    );
    // The body of a flight is on the heap, and in no caller's future.
    let (large, of_large) = (size_of_val(&m53_plain_large(1)), size_of_val(&m53_large(1)));
    assert!(
        large > 8192 && of_large <= plain + 1024,
        "{large}: {of_large}"
    );
    assert_eq!(m53_entry(1).call().await, 1);
    assert_eq!(
        (
            m53_large(1).await,
            m53_inline(1).await,
            m53_with_entry(1).await
        ),
        (1, 1, 1)
    );
    assert_eq!((m53_plain(1).await, m53_plain_large(1).await), (1, 1));
}

/// A body that says when it has begun, and ends when it may.
#[derive(Clone)]
struct Body {
    begun: Arc<Semaphore>,
    may_end: Arc<Semaphore>,
    runs: Arc<AtomicU64>,
}

impl Body {
    fn new() -> Self {
        Self {
            begun: Arc::new(Semaphore::new(0)),
            may_end: Arc::new(Semaphore::new(0)),
            runs: Arc::default(),
        }
    }

    async fn run(&self) -> u64 {
        let run = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        self.begun.add_permits(1);
        self.may_end.acquire().await.unwrap().forget();
        run
    }
}

#[coalesce(key = id, skip(body))]
async fn m59(body: &Body, id: &str) -> u64 {
    body.run().await
}

#[tokio::test]
async fn m59_a_caller_that_goes_away_takes_nothing_from_the_others() {
    ready().await;
    let body = Body::new();
    let leader = tokio::spawn({
        let body = body.clone();
        async move { m59(&body, "m59").await }
    });
    soon(body.begun.acquire()).await.unwrap().forget();
    leader.abort();
    assert!(leader.await.unwrap_err().is_cancelled());
    body.may_end.add_permits(1);
    // Whether it joins the flight or comes behind it, it need not wait for a lease.
    body.may_end.add_permits(1);
    assert!(soon(m59(&body, "m59")).await <= 2);
}

#[coalesce(key = "one", skip(body))]
async fn m60(body: &Body) -> u64 {
    let run = body.run().await;
    assert_ne!(run, 1, "the first run panics");
    run
}

#[tokio::test]
async fn m60_a_panic_frees_the_key_at_once() {
    ready().await;
    let body = Body::new();
    let call = |body: &Body| {
        let body = body.clone();
        tokio::spawn(async move { m60(&body).await })
    };
    let calls = [call(&body), call(&body), call(&body)];
    body.may_end.add_permits(2);
    let mut answers = Vec::new();
    for call in calls {
        answers.push(soon(call).await.ok());
    }
    answers.sort_unstable();
    assert_eq!(answers, [None, Some(2), Some(2)]);
}

#[tokio::test]
async fn m61_nothing_runs_before_the_first_poll() {
    ready().await;
    let body = Body::new();
    drop(m59(&body, "m61"));
    let never = m59(&body, "m61");
    tokio::task::yield_now().await;
    drop(never);
    assert_eq!(body.runs.load(Ordering::SeqCst), 0);
}

static PRICES: AtomicU64 = AtomicU64::new(1);

#[coalesce(fresh_ttl = "1m", entry = m62_entry)]
async fn m62(id: u64) -> u64 {
    id * PRICES.fetch_add(1, Ordering::SeqCst)
}

#[tokio::test]
async fn m62_the_entry_is_reached_from_outside() {
    ready().await;
    assert_eq!(m62_entry(1).peek().await, Ok(None));
    assert_eq!((m62(1).await, m62_entry(1).peek().await), (1, Ok(Some(1))));
    m62_entry(1).put(70).await.unwrap();
    assert_eq!(m62(1).await, 70);
    m62_entry(1).invalidate().await.unwrap();
    assert_eq!((m62(1).await, m62_entry(1).bypass().await), (2, 3));
    // M64: a refresh is no part of the key.
    assert_eq!((m62_entry(1).refresh().await, m62(1).await), (4, 4));
}

#[coalesce(fresh_ttl = "500ms")]
async fn m63(id: u64) -> u64 {
    id
}

#[tokio::test]
async fn m63_times_below_a_second() {
    ready().await;
    assert_eq!(m63(1).await, 1);
    let sites = coalesce::call_sites();
    let site = sites.iter().find(|site| site.function() == "m63").unwrap();
    let fresh = site.policy().clocks().fresh();
    assert_eq!(fresh, std::time::Duration::from_millis(500));
}

static ENCODED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(transparent)]
struct Counted(u64);

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ENCODED.fetch_add(1, Ordering::SeqCst);
        self.0.serialize(serializer)
    }
}

#[coalesce(fresh_ttl = "1m")]
async fn m66(id: u64) -> Counted {
    tokio::task::yield_now().await;
    Counted(id)
}

#[tokio::test]
async fn m66_a_value_is_encoded_once_by_its_leader_and_not_on_a_hit() {
    ready().await;
    let answers = tokio::join!(m66(1), m66(1), m66(1));
    assert_eq!(answers, (Counted(1), Counted(1), Counted(1)));
    assert_eq!(ENCODED.load(Ordering::SeqCst), 1);
    assert_eq!(
        (m66(1).await, ENCODED.load(Ordering::SeqCst)),
        (Counted(1), 1)
    );
}
