//! Return types: `Result` and `Option` are recognised by type, through any alias.

use std::sync::atomic::{AtomicU32, Ordering};

use coalesce::coalesce;

use super::{Failure, ready};

type Outcome<T> = Result<T, Failure>;
type Perhaps = Option<Option<u64>>;

static RUNS: AtomicU32 = AtomicU32::new(0);

#[coalesce(fresh_ttl = "1m")]
async fn fails_once(id: u64) -> Outcome<u64> {
    match RUNS.fetch_add(1, Ordering::SeqCst) {
        0 => Err(Failure::Own(format!("no {id}"))),
        _ => Ok(id),
    }
}

#[coalesce(fresh_ttl = "1m")]
async fn nested(id: u64) -> Perhaps {
    match id {
        0 => None,
        1 => Some(None),
        id => Some(Some(id)),
    }
}

#[derive(Debug, PartialEq)]
struct Opaque;

impl From<coalesce::Error> for Opaque {
    fn from(_: coalesce::Error) -> Self {
        Self
    }
}

#[coalesce]
async fn opaque(id: u64) -> Result<u64, Opaque> {
    if id == 0 { Err(Opaque) } else { Ok(id) }
}

#[derive(Clone)]
struct Maker;

impl Maker {
    #[coalesce]
    async fn make(&self, id: u64) -> Made {
        let _ = self;
        Made { id }
    }
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[expect(
    clippy::unsafe_derive_deserialize,
    reason = "registering a call site is unsafe code, although not ours, inside a method"
)]
struct Made {
    id: u64,
}

impl Made {
    #[coalesce]
    async fn myself(id: u64) -> Self {
        Self { id }
    }
}

#[tokio::test]
async fn error_behind_an_alias_is_not_stored() {
    ready().await;
    assert_eq!(fails_once(3).await, Err(Failure::Own("no 3".to_owned())));
    assert_eq!(fails_once(3).await, Ok(3));
    assert_eq!(
        (fails_once(3).await, RUNS.load(Ordering::SeqCst)),
        (Ok(3), 2)
    );
}

#[tokio::test]
async fn nested_options_do_not_collapse() {
    ready().await;
    for _ in 0..2 {
        assert_eq!(nested(0).await, None);
        assert_eq!(nested(1).await, Some(None));
        assert_eq!(nested(2).await, Some(Some(2)));
    }
}

#[tokio::test]
async fn error_needs_neither_clone_nor_display() {
    ready().await;
    assert_eq!((opaque(0).await, opaque(1).await), (Err(Opaque), Ok(1)));
}

#[tokio::test]
async fn own_types_and_self_are_returned() {
    ready().await;
    assert_eq!(Maker.make(1).await, Made::myself(1).await);
}
