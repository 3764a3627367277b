//! Runtimes that nobody polls any more while another of the same process works: what they were at goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coalesce_runtime::{Coalescer, MemoryCoordinator};
use tokio::runtime::{Builder, Runtime};

use crate::fleet::{Ledger, MS};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Code without a runtime of its own that calls with `block_on`, beside a server that has one.
#[test]
fn leases_are_renewed_although_the_runtime_of_the_heartbeat_is_polled_no_more() {
    const LEASE: Duration = Duration::from_millis(600);
    let coordinator = Arc::new(MemoryCoordinator::new());
    let (parked, at_work) = (runtime(), runtime());
    let pod = || {
        let builder = Coalescer::builder().coordinator(coordinator.clone());
        at_work.block_on(builder.lease(LEASE).build()).unwrap()
    };
    let (one, two) = (pod(), pod());
    let call = |pod: &Coalescer, key: u64, ledger: &Ledger, span| {
        let (call, ledger) = (pod.call("n").key(key), ledger.clone());
        call.run(move || async move { ledger.run(span).await })
    };
    // The heartbeat starts here, and its runtime is polled for a moment only.
    let others = Ledger::default();
    let other = parked.spawn(call(&one, 1, &others, 60_000 * MS));
    parked.block_on(async { tokio::time::sleep(20 * MS).await });
    assert_eq!(others.runs(), 1);

    let ledger = Ledger::default();
    let begun = Instant::now();
    let answers = at_work.block_on(async {
        let slow = tokio::spawn(call(&one, 2, &ledger, 4 * LEASE));
        tokio::time::sleep(20 * MS).await;
        let follower = tokio::spawn(call(&two, 2, &ledger, 4 * LEASE));
        [slow.await.unwrap(), follower.await.unwrap()]
    });
    assert_eq!((answers, ledger.runs()), ([1, 1], 1));
    assert!(begun.elapsed() < 5 * 4 * LEASE, "{:?}", begun.elapsed());
    other.abort();
}
