//! M22 to M28, M34, M36: results and bodies.

use std::sync::atomic::{AtomicU64, Ordering};

use coalesce::coalesce;

use super::{Failure, ready, soon};

static RUNS: AtomicU64 = AtomicU64::new(0);

static M22_RUNS: AtomicU64 = AtomicU64::new(0);

#[coalesce(fresh_ttl = "1m")]
async fn m22(id: u64) -> Result<u64, Failure> {
    match M22_RUNS.fetch_add(1, Ordering::SeqCst) {
        0 => Err(Failure::Own(id)),
        run => Ok(run),
    }
}

#[tokio::test]
async fn m22_only_values_are_kept() {
    ready().await;
    assert_eq!(m22(7).await, Err(Failure::Own(7)));
    assert_eq!((m22(7).await, m22(7).await), (Ok(1), Ok(1)));
}

type AppResult<T> = Result<T, Failure>;
type Opaque = AppResult<Option<u64>>;

mod anyhow {
    //! An alias with a default, as libraries of errors have it.
    pub(super) type Result<T, E = Box<dyn std::error::Error + Send + Sync>> =
        std::result::Result<T, E>;
}

#[coalesce(fresh_ttl = "1m")]
async fn m23_alias(id: u64) -> AppResult<u64> {
    Err(Failure::Own(id + RUNS.fetch_add(1, Ordering::SeqCst)))
}

#[coalesce]
async fn m23_whole(id: u64) -> Opaque {
    Ok(Some(id))
}

#[coalesce]
async fn m23_default(id: u64) -> anyhow::Result<u64> {
    Ok(id)
}

#[tokio::test]
async fn m23_results_behind_aliases() {
    ready().await;
    assert_ne!(m23_alias(7).await, m23_alias(7).await);
    assert_eq!(
        (m23_whole(1).await, m23_default(1).await.unwrap()),
        (Ok(Some(1)), 1)
    );
}

#[coalesce]
async fn m24(id: u64) -> Result<u64, Failure> {
    tokio::task::yield_now().await;
    Err(Failure::Own(id))
}

#[tokio::test]
async fn m24_errors_without_clone() {
    ready().await;
    let (one, other) = tokio::join!(m24(1), m24(1));
    let (led, followed): (Vec<_>, Vec<_>) = [one, other]
        .into_iter()
        .partition(|it| *it == Err(Failure::Own(1)));
    assert_eq!((led.len(), followed), (1, vec![Err(Failure::Shared)]));
}

#[coalesce]
async fn m25(id: u64) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    if id == 0 {
        Err("boom")?;
    }
    Ok("x".into())
}

#[tokio::test]
async fn m25_boxed_errors_and_inference() {
    ready().await;
    assert_eq!(m25(0).await.unwrap_err().to_string(), "boom");
    assert_eq!(m25(1).await.unwrap(), "x");
}

#[coalesce]
async fn m26(id: u64) -> Result<u64, Failure> {
    if id == 0 {
        return Err(Failure::Own(id));
    }
    m24(id).await?;
    Ok(id)
}

#[tokio::test]
async fn m26_returns_end_the_flight_and_free_the_key() {
    ready().await;
    for _ in 0..2 {
        assert_eq!(soon(m26(0)).await, Err(Failure::Own(0)));
        assert_eq!(soon(m26(1)).await, Err(Failure::Own(1)));
    }
}

#[coalesce]
async fn m27(id: u64) {
    let _ = id;
    RUNS.fetch_add(1, Ordering::SeqCst);
}

#[coalesce]
async fn m27_no_arguments() -> Result<(), Failure> {
    Ok(())
}

#[tokio::test]
async fn m27_nothing_as_a_result() {
    ready().await;
    m27(1).await;
    assert_eq!(m27_no_arguments().await, Ok(()));
}

#[coalesce(fresh_ttl = "1m")]
async fn m28(id: u64) -> Option<Option<u64>> {
    match id {
        0 => None,
        1 => Some(None),
        id => Some(Some(id)),
    }
}

#[tokio::test]
async fn m28_options_are_kept_as_they_are() {
    ready().await;
    for _ in 0..2 {
        assert_eq!(m28(0).await, None);
        assert_eq!((m28(1).await, m28(2).await), (Some(None), Some(Some(2))));
    }
}

#[coalesce]
async fn m34(id: u64) -> u64 {
    #![allow(unused, reason = "the input of this row")]
    let x = 1;
    id
}

#[coalesce]
async fn m36(id: u64) -> u64 {
    use std::collections::HashMap;
    const K: u64 = 2;
    let map = HashMap::from([(id, K)]);
    map[&id]
}

#[tokio::test]
async fn m34_inner_attributes() {
    ready().await;
    assert_eq!(m34(1).await, 1);
}

#[tokio::test]
async fn m36_imports_and_constants_come_first() {
    ready().await;
    assert_eq!(m36(1).await, 2);
}
