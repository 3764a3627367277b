//! Very many different keys: a process that has answered for all of them is as large as before.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has measured"
)]

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use coalesce::{Coalescer, CoalescerBuilder};
use coalesce_rig::RedisServer;

/// Memory is the process's, so one test at a time looks at it.
static ALONE: Mutex<()> = Mutex::new(());

/// Calls in progress at once.
const AT_ONCE: u64 = 100;

/// What memory may have grown by, in KiB: what an allocator keeps for itself, and less than 50 bytes for each of a
/// hundred thousand keys.
const GROWTH: u64 = 4 * 1_024;

/// The process's resident memory in KiB.
fn resident() -> u64 {
    let pid = std::process::id().to_string();
    let told = Command::new("ps").args(["-o", "rss=", "-p", &pid]).output();
    let told = String::from_utf8(told.expect("ps").stdout).expect("text");
    told.trim().parse().expect("a number")
}

/// Calls each of these keys once.
async fn call(coalescer: &Coalescer, keys: std::ops::Range<u64>) {
    for first in keys.clone().step_by(usize::try_from(AT_ONCE).expect("few")) {
        let calls: Vec<_> = (first..(first + AT_ONCE).min(keys.end))
            .map(|key| {
                let call = coalescer.call("many::keys").key(key);
                tokio::spawn(call.run(move || async move { key }))
            })
            .collect();
        for (call, key) in calls.into_iter().zip(first..) {
            assert_eq!(call.await.expect("an answer"), key);
        }
    }
}

/// Memory after `before` keys, and how much it has grown `more` keys later.
async fn growth(coalescer: &Coalescer, before: u64, more: u64) -> u64 {
    call(coalescer, 0..before).await;
    let then = resident();
    let started = Instant::now();
    call(coalescer, before..before + more).await;
    let grown = resident().saturating_sub(then);
    println!(
        "{more} keys behind {then} KiB: {grown} KiB more, {:?}",
        started.elapsed()
    );
    assert_eq!(coalescer.in_flight(), 0);
    assert_eq!(coalescer.counts().executions, before + more);
    grown
}

fn alone(test: impl Future<Output = ()>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

/// Outcomes that are kept for a moment only, so that as many are there before as after.
fn builder() -> CoalescerBuilder {
    Coalescer::builder().delivery_window(Duration::from_millis(50))
}

#[test]
fn a_hundred_thousand_keys_leave_nothing_in_the_process() {
    alone(async {
        let coalescer = builder().in_process().build().await.expect("a coalescer");
        let grown = growth(&coalescer, 30_000, 100_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
    });
}

/// Row 47. A minute or more, so only on request.
#[test]
#[ignore = "slow: cargo test --release -p coalesce-rig --test many_keys -- --ignored"]
fn a_million_keys_leave_nothing_in_the_process() {
    alone(async {
        let coalescer = builder().in_process().build().await.expect("a coalescer");
        let grown = growth(&coalescer, 100_000, 1_000_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
    });
}

#[test]
fn twenty_thousand_keys_leave_nothing_in_the_process_nor_in_redis() {
    alone(async {
        let server = RedisServer::start();
        let builder = builder().redis(server.url());
        let coalescer = builder.build().await.expect("a coalescer");
        let grown = growth(&coalescer, 10_000, 20_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
        assert_eq!(coalescer.subscriptions(), 0);
        let end = Instant::now() + Duration::from_secs(20);
        // What is left is the set in which the fleet's namespaces are told.
        while server.command(&["DBSIZE"]).number() > 1 {
            assert!(Instant::now() < end, "keys are left");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let left = server.command(&["KEYS", "*"]).list();
        assert_eq!(left[0].text(), "coalesce:namespaces");
    });
}
