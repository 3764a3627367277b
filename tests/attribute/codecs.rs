//! Codecs of a call site, and what two deployments make of each other's bytes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use coalesce::codec::Codec;
use coalesce::coordination::{Coordinator, Envelope};
use coalesce::{Coalescer, MemoryCoordinator, coalesce};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Words backwards: a codec of a user.
#[derive(Clone, Copy)]
struct Backwards;

impl Codec for Backwards {
    const NUMBER: u8 = 128;

    fn encode<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(value)?;
        bytes.reverse();
        out.write_all(&bytes)
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        let mut bytes = bytes.to_vec();
        bytes.reverse();
        serde_json::from_slice(&bytes).ok()
    }
}

/// One deployment: its process, and how often its body ran.
struct Pod {
    coalescer: Coalescer,
    runs: AtomicU32,
}

impl Pod {
    fn run(&self) {
        self.runs.fetch_add(1, Ordering::SeqCst);
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

/// Two processes that share everything.
async fn two_pods() -> (Arc<MemoryCoordinator>, Arc<Pod>, Arc<Pod>) {
    let memory = Arc::new(MemoryCoordinator::new());
    let pod = async |memory: &Arc<MemoryCoordinator>| {
        let coordinator: Arc<dyn Coordinator> = memory.clone();
        let built = Coalescer::builder().coordinator(coordinator).build().await;
        Arc::new(Pod {
            coalescer: built.unwrap(),
            runs: AtomicU32::new(0),
        })
    };
    let (old, new) = (pod(&memory).await, pod(&memory).await);
    (memory, old, new)
}

macro_rules! written_with {
    ($($function:ident, $entry:ident $(, $codec:path)?;)*) => {$(
        #[coalesce(
            key = "one",
            skip(pod, fails),
            coalescer = pod.coalescer,
            fresh_ttl = "1m",
            keep_errors = "1m",
            entry = $entry
            $(, codec = $codec)?
        )]
        async fn $function(pod: Arc<Pod>, fails: bool) -> Result<Option<String>, coalesce::Error> {
            pod.run();
            if fails {
                return Err(refusal());
            }
            Ok(Some("abc".to_owned()))
        }
    )*};
}

fn refusal() -> coalesce::Error {
    coalesce::Error::Abandoned {
        namespace: "refused".into(),
    }
}
written_with! {
    plain, plain_entry;
    json, json_entry, coalesce::codec::Json;
    postcard, postcard_entry, coalesce::codec::Postcard;
    backwards, backwards_entry, Backwards;
}

/// The codec's number and the payload of what is stored for the key of an entry.
macro_rules! stored {
    ($memory:expr, $entry:expr) => {{
        let key = $entry.key().await.unwrap();
        let bytes = $memory.read(&key).await.unwrap().unwrap();
        let envelope = Envelope::decode(&key, &bytes).unwrap();
        (envelope.codec, envelope.payload.to_vec())
    }};
}

#[tokio::test]
async fn the_entry_says_which_codec_wrote_it() {
    let (memory, pod, other) = two_pods().await;
    let value = Ok(Some("abc".to_owned()));
    for pod in [&pod, &other] {
        assert_eq!(plain(Arc::clone(pod), false).await, value);
        assert_eq!(json(Arc::clone(pod), false).await, value);
        assert_eq!(postcard(Arc::clone(pod), false).await, value);
        assert_eq!(backwards(Arc::clone(pod), false).await, value);
    }
    assert_eq!((pod.runs(), other.runs()), (4, 0));
    let pod = || Arc::clone(&pod);
    assert_eq!(
        stored!(memory, plain_entry(pod(), false)),
        (1, b"\x91\xa3abc".to_vec())
    );
    assert_eq!(
        stored!(memory, json_entry(pod(), false)),
        (3, b"[\"abc\"]".to_vec())
    );
    assert_eq!(
        stored!(memory, postcard_entry(pod(), false)),
        (4, b"\x01\x03abc".to_vec())
    );
    assert_eq!(
        stored!(memory, backwards_entry(pod(), false)),
        (128, b"]\"cba\"[".to_vec())
    );
}

#[tokio::test]
async fn a_value_of_another_codec_is_a_miss_and_counted() {
    #[coalesce(namespace = "shared", skip(pod), coalescer = pod.coalescer, fresh_ttl = "1m", codec = json)]
    async fn before(pod: Arc<Pod>) -> u64 {
        pod.run();
        7
    }
    #[coalesce(namespace = "shared", skip(pod), coalescer = pod.coalescer, fresh_ttl = "1m")]
    async fn after(pod: Arc<Pod>) -> u64 {
        pod.run();
        7
    }
    let (_, old, new) = two_pods().await;
    assert_eq!(before(Arc::clone(&old)).await, 7);
    assert_eq!(after(Arc::clone(&new)).await, 7);
    assert_eq!(after(Arc::clone(&new)).await, 7);
    assert_eq!((old.runs(), new.runs()), (1, 1));
    assert_eq!(new.coalescer.counts().undecodable, 1);
}

/// What a deployment knows of an order, and what the next one does.
mod versions {
    use super::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Old {
        pub(super) id: u64,
        pub(super) note: Option<String>,
    }

    /// Fields moved, one added that may be absent, one gone.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Compatible {
        pub(super) total: Option<u64>,
        pub(super) id: u64,
    }

    /// One renamed.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Incompatible {
        pub(super) number: u64,
    }
}

/// The same function in two deployments.
macro_rules! deployment {
    ($($module:ident: $type:ty = $value:expr $(, $option:ident = $setting:literal)*;)*) => {$(
        mod $module {
            use super::*;

            #[coalesce(
                namespace = "orders.get",
                skip(pod),
                coalescer = pod.coalescer,
                fresh_ttl = "1m"
                $(, $option = $setting)*
            )]
            pub(super) async fn get(pod: Arc<Pod>) -> $type {
                pod.run();
                $value
            }
        }
    )*};
}
deployment! {
    old: versions::Old = versions::Old { id: 7, note: Some("n".to_owned()) };
    compatible: versions::Compatible = versions::Compatible { total: Some(9), id: 7 };
    incompatible: versions::Incompatible = versions::Incompatible { number: 7 };
    renewed: versions::Incompatible = versions::Incompatible { number: 7 }, version = 2;
}

#[tokio::test]
async fn a_compatible_change_is_read_in_both_directions() {
    let (_, before, after) = two_pods().await;
    old::get(Arc::clone(&before)).await;
    let read = compatible::get(Arc::clone(&after)).await;
    assert_eq!(read, versions::Compatible { total: None, id: 7 });

    let (_, before, after) = two_pods().await;
    compatible::get(Arc::clone(&after)).await;
    let read = old::get(Arc::clone(&before)).await;
    assert_eq!(read, versions::Old { id: 7, note: None });
    assert_eq!((before.runs(), after.runs()), (0, 1));
}

#[tokio::test]
async fn an_incompatible_change_is_a_miss_in_both_directions() {
    let (_, before, after) = two_pods().await;
    old::get(Arc::clone(&before)).await;
    // Each reads what it cannot, computes, and stores what the other cannot read.
    for round in 1..3 {
        assert_eq!(incompatible::get(Arc::clone(&after)).await.number, 7);
        assert_eq!(incompatible::get(Arc::clone(&after)).await.number, 7);
        assert_eq!(after.runs(), round);
        assert_eq!(old::get(Arc::clone(&before)).await.id, 7);
        assert_eq!(old::get(Arc::clone(&before)).await.id, 7);
        assert_eq!(before.runs(), round + 1);
    }
    let undecodable = |pod: &Pod| pod.coalescer.counts().undecodable;
    assert_eq!((undecodable(&before), undecodable(&after)), (2, 2));
}

#[tokio::test]
async fn a_new_version_has_entries_of_its_own() {
    let (_, before, after) = two_pods().await;
    for _ in 0..2 {
        old::get(Arc::clone(&before)).await;
        renewed::get(Arc::clone(&after)).await;
    }
    assert_eq!((before.runs(), after.runs()), (1, 1));
    let undecodable = |pod: &Pod| pod.coalescer.counts().undecodable;
    assert_eq!((undecodable(&before), undecodable(&after)), (0, 0));
}

#[tokio::test]
async fn an_error_crosses_in_the_codec_of_its_call_site() {
    // `coalesce::Error` is no serde type, so followers elsewhere get its message.
    let (_, pod, other) = two_pods().await;
    assert_eq!(json(Arc::clone(&pod), true).await, Err(refusal()));
    let followed = json(Arc::clone(&other), true).await.unwrap_err();
    assert_eq!((followed.label(), other.runs()), ("failed", 0));
}
