//! Options, as they act on a call.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use coalesce::{Coalescer, Error, coalesce};

use super::{Failure, ready, tenant};

static OFF: AtomicU32 = AtomicU32::new(0);

#[coalesce(fresh_ttl = "1m", enabled = false)]
async fn switched_off(id: u64) -> u32 {
    let _ = id;
    OFF.fetch_add(1, Ordering::SeqCst)
}

#[coalesce(header_keys = ["X-Tenant"], missing_header = "error")]
async fn strict(id: u64) -> Result<u64, Failure> {
    Ok(id)
}

#[coalesce(fresh_ttl = 60, header_keys = ["X-Tenant"])]
async fn lenient(id: u64) -> u32 {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let _ = id;
    RUNS.fetch_add(1, Ordering::SeqCst)
}

const LONG: Duration = Duration::from_mins(1);

mod clocks {
    //! Constants elsewhere.
    pub(super) const WAIT: std::time::Duration = std::time::Duration::from_secs(90);
}

#[coalesce(
    fresh_ttl = LONG,
    stale_ttl = "${OPTIONS_STALE_TTL:5m}",
    pending_ttl = "1m",
    wait_timeout = clocks::WAIT,
    errors = "share",
    keep_errors = "2s",
    on_redis_error = "fail",
    max_payload = "64KiB",
    enabled = "${OPTIONS_ENABLED:true}"
)]
async fn everything(id: u64) -> Result<u32, Failure> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let _ = id;
    Ok(RUNS.fetch_add(1, Ordering::SeqCst))
}

#[derive(Clone)]
struct Service {
    coalescer: Coalescer,
}

impl Service {
    #[coalesce(fresh_ttl = "1m", coalescer = self.coalescer)]
    async fn of_its_own(&self, id: u64) -> u64 {
        let _ = self;
        id
    }
}

mod renamed {
    //! A crate that exports the library under another name.
    pub(super) mod deps {
        pub(crate) use ::coalesce as co;
    }

    #[deps::co::coalesce(crate = self::deps::co)]
    pub(super) async fn under_another_name(id: u64) -> u64 {
        id
    }
}

#[tokio::test]
async fn switched_off_function_is_a_plain_function() {
    ready().await;
    assert_eq!((switched_off(1).await, switched_off(1).await), (0, 1));
}

#[tokio::test]
async fn missing_header_is_an_error_or_a_plain_call() {
    ready().await;
    assert!(matches!(
        strict(1).await,
        Err(Failure::Coalesce(Error::MissingHeader { header, .. })) if &*header == "x-tenant"
    ));
    assert_eq!(tenant("acme").scope(strict(1)).await, Ok(1));
    assert_eq!((lenient(1).await, lenient(1).await), (0, 1));
    let shared = tenant("acme").scope(async { (lenient(1).await, lenient(1).await) });
    assert_eq!(shared.await, (2, 2));
}

#[tokio::test]
async fn every_option_can_be_given() {
    ready().await;
    assert_eq!((everything(1).await, everything(1).await), (Ok(0), Ok(0)));
}

#[tokio::test]
async fn call_goes_to_the_coalescer_that_is_named() {
    let coalescer = Coalescer::builder().in_process().build().await.unwrap();
    let service = Service {
        coalescer: coalescer.clone(),
    };
    assert_eq!(
        (service.of_its_own(1).await, service.of_its_own(1).await),
        (1, 1)
    );
    assert_eq!(coalescer.counts().executions, 1);
}

#[tokio::test]
async fn library_is_found_under_another_name() {
    ready().await;
    assert_eq!(renamed::under_another_name(1).await, 1);
}
