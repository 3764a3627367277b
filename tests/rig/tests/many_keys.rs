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

/// Each of these processes calls each of these keys once, all at about the same time.
async fn call(fleet: &[Coalescer], keys: std::ops::Range<u64>, body: Duration) {
    for first in keys.clone().step_by(usize::try_from(AT_ONCE).expect("few")) {
        let calls: Vec<_> = (first..(first + AT_ONCE).min(keys.end))
            .flat_map(|key| fleet.iter().map(move |coalescer| (coalescer, key)))
            .map(|(coalescer, key)| {
                let call = coalescer.call("many::keys").key(key);
                let call = call.run(move || async move {
                    tokio::time::sleep(body).await;
                    key
                });
                (tokio::spawn(call), key)
            })
            .collect();
        for (call, key) in calls {
            assert_eq!(call.await.expect("an answer"), key);
        }
    }
}

/// How much memory has grown between `before` keys and `more` keys later.
async fn growth(fleet: &[Coalescer], before: u64, more: u64, body: Duration) -> u64 {
    call(fleet, 0..before, body).await;
    let then = resident();
    let started = Instant::now();
    call(fleet, before..before + more, body).await;
    let grown = resident().saturating_sub(then);
    println!(
        "{more} keys behind {then} KiB: {grown} KiB more, {:?}",
        started.elapsed()
    );
    for coalescer in fleet {
        assert_eq!(coalescer.in_flight(), 0);
    }
    grown
}

/// In one process, with bodies that take no time.
async fn growth_alone(coalescer: Coalescer, before: u64, more: u64) -> u64 {
    let fleet = [coalescer];
    let grown = growth(&fleet, before, more, Duration::ZERO).await;
    assert_eq!(fleet[0].counts().executions, before + more);
    grown
}

/// In two processes, of which one waits for the body of the other, as a rule.
async fn growth_with_followers(server: &RedisServer, before: u64, more: u64) -> u64 {
    let mut fleet = Vec::new();
    for _ in 0..2 {
        let coalescer = builder().redis(server.url()).build().await;
        fleet.push(coalescer.expect("a coalescer"));
    }
    let grown = growth(&fleet, before, more, Duration::from_millis(2)).await;
    let followed: u64 = fleet.iter().map(|one| one.counts().followed).sum();
    println!("{followed} calls waited for a body of the other process");
    assert!(followed * 4 > before + more, "{followed} calls followed");
    for coalescer in &fleet {
        eventually("a subscription is left", || coalescer.subscriptions() == 0).await;
    }
    grown
}

/// What is left is the set in which the fleet's namespaces are told.
async fn nothing_is_left_in(server: &RedisServer) {
    let keys = || server.command(&["DBSIZE"]).number();
    eventually("keys are left", || keys() <= 1).await;
    let left = server.command(&["KEYS", "*"]).list();
    assert_eq!(left[0].text(), "coalesce:namespaces");
}

async fn eventually(otherwise: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{otherwise}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
        let grown = growth_alone(coalescer, 30_000, 100_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
    });
}

#[test]
fn twenty_thousand_keys_leave_nothing_in_the_processes_nor_in_redis() {
    alone(async {
        let server = RedisServer::start();
        let grown = growth_with_followers(&server, 10_000, 20_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
        nothing_is_left_in(&server).await;
    });
}

/// Row 47. Minutes, so only on request.
#[test]
#[ignore = "slow: cargo test --release -p coalesce-rig --test many_keys -- --ignored"]
fn a_million_keys_leave_nothing_in_the_process() {
    alone(async {
        let coalescer = builder().in_process().build().await.expect("a coalescer");
        let grown = growth_alone(coalescer, 100_000, 1_000_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
    });
}

#[test]
#[ignore = "slow: cargo test --release -p coalesce-rig --test many_keys -- --ignored"]
fn a_million_keys_leave_nothing_in_the_processes_nor_in_redis() {
    alone(async {
        let server = RedisServer::start();
        let grown = growth_with_followers(&server, 100_000, 1_000_000).await;
        assert!(grown < GROWTH, "{grown} KiB");
        nothing_is_left_in(&server).await;
    });
}
