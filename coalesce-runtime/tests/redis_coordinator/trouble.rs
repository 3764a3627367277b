//! Trouble: a server that hangs, dies, pauses or comes back. Answers come within the deadline.

use std::time::{Duration, Instant};

use coalesce_rig::{RedisServer, free_port};
use coalesce_runtime::coordination::{Coordinator as _, Notice, Status};
use coalesce_runtime::{BreakerState, Fault, RedisCoordinator, RedisSettings};

use crate::scene::{Coordinated, LEAD, MS, SECOND, begin, envelope, finish, key, soon, token};

/// The deadline is 250 ms; a busy machine is slower than an idle one.
const SLACK: Duration = Duration::from_millis(5 * 250);

async fn works(coordinator: &RedisCoordinator, number: u32) -> bool {
    let (key, token) = (key(number), token(1));
    if coordinator.read(&key).await.is_err() {
        return false;
    }
    let outcome = finish(envelope(Status::Done, token, b"v"));
    coordinator.begin(&key, &begin(token)).await.is_ok()
        && coordinator.finish(&key, &outcome).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_costs_a_deadline_then_nothing_and_is_back_at_once() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    assert!(works(&coordinator, 1).await);
    server.freeze();
    let mut faults = Vec::new();
    for number in 0..20 {
        let asked = Instant::now();
        let answer = coordinator.begin(&key(number), &begin(token(1))).await;
        assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
        faults.push(answer.unwrap_err());
    }
    assert_eq!(faults[0], Fault::Timeout);
    assert_eq!(faults.last(), Some(&Fault::Paused));
    assert_eq!(coordinator.health().breaker, BreakerState::Open);
    let asked = Instant::now();
    for number in 0..1_000 {
        assert!(
            coordinator
                .begin(&key(number), &begin(token(1)))
                .await
                .is_err()
        );
    }
    assert!(asked.elapsed() < SLACK, "nobody waits while it is paused");
    server.go_on();
    let mut number = 100;
    let recovery = soon("it works again", async || {
        number += 1;
        works(&coordinator, number).await
    });
    let recovery = recovery.await;
    assert!(recovery < 5 * SECOND, "{recovery:?}");
    assert_eq!(coordinator.health().misrouted, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_that_comes_back_is_found_again() {
    let server = RedisServer::start();
    let (port, coordinator) = (server.port(), server.usual().await);
    let mut listener = coordinator.listen(&key(1)).await.unwrap();
    drop(server);
    soon("its absence is noticed", async || {
        let asked = Instant::now();
        let read = coordinator.read(&key(1)).await;
        assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
        read.is_err()
    })
    .await;
    let _server = RedisServer::start_at(port);
    let recovery = soon("it works again", async || works(&coordinator, 1).await).await;
    assert!(recovery < 5 * SECOND, "{recovery:?}");
    let notice = tokio::time::timeout(5 * SECOND, listener.next()).await;
    assert_eq!(notice.ok(), Some(Notice::Gap));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_write_keeps_nobody_from_reading() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    assert!(works(&coordinator, 1).await);
    server.ask(&["CLIENT", "PAUSE", "3000", "WRITE"]);
    for number in 0..10 {
        let begun = coordinator
            .begin(&key(100 + number), &begin(token(1)))
            .await;
        assert!(begun.is_err(), "{begun:?}");
        assert!(coordinator.read(&key(1)).await.unwrap().is_some());
    }
    server.ask(&["CLIENT", "UNPAUSE"]);
    soon("writing works again", async || works(&coordinator, 2).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_connection_that_is_dead_is_noticed() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    let ids = |server: &RedisServer| {
        let list = server.ask(&["CLIENT", "LIST"]);
        let ids = list.lines().filter_map(|line| line.split(' ').next());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = ids(&server);
    server.freeze();
    // The listening line has nobody who asks it anything but the probe.
    soon("the listening line is given up", async || {
        !coordinator.health().subscribed
    })
    .await;
    server.go_on();
    soon("it listens again", async || {
        coordinator.listen(&key(1)).await.is_ok()
    })
    .await;
    assert_ne!(ids(&server), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_absent_at_the_start_is_joined_when_it_appears() {
    let port = free_port();
    let settings = RedisSettings::new(format!("redis://127.0.0.1:{port}"));
    let asked = Instant::now();
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    assert!(asked.elapsed() < 5 * SECOND, "{:?}", asked.elapsed());
    assert!(!coordinator.health().connected);
    let asked = Instant::now();
    for number in 0..100 {
        let begun = coordinator.begin(&key(number), &begin(token(1))).await;
        assert!(
            matches!(begun, Err(Fault::Disconnected | Fault::Paused)),
            "{begun:?}"
        );
        assert!(coordinator.listen(&key(number)).await.is_err());
    }
    assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
    let _server = RedisServer::start_at(port);
    let joined = soon("it works", async || works(&coordinator, 1).await).await;
    assert!(joined < 5 * SECOND, "{joined:?}");
    soon("it listens", async || {
        coordinator.listen(&key(1)).await.is_ok()
    })
    .await;
}

/// A port that accepts and says nothing: a firewall, or a process that hangs.
#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_accepts_and_never_answers_does_not_hold_up_the_start() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let asked = Instant::now();
    let settings = RedisSettings::new(url);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    assert!(asked.elapsed() < 5 * SECOND, "{:?}", asked.elapsed());
    let asked = Instant::now();
    assert!(coordinator.read(&key(1)).await.is_err());
    assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
    assert!(coordinator.close().await.is_ok());
    assert!(asked.elapsed() < 2 * SLACK, "{:?}", asked.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_script_is_bypassed_and_survived() {
    let server = RedisServer::start();
    server.ask(&["CONFIG", "SET", "busy-reply-threshold", "100"]);
    let coordinator = server.usual().await;
    let mut busy = server.connection();
    let hog = std::thread::spawn(move || busy.command(&["EVAL", "while true do end", "0"]));
    soon("it is busy", async || {
        coordinator.read(&key(1)).await.is_err()
    })
    .await;
    let asked = Instant::now();
    assert!(coordinator.begin(&key(1), &begin(token(1))).await.is_err());
    assert!(asked.elapsed() < SLACK, "{:?}", asked.elapsed());
    server.ask(&["SCRIPT", "KILL"]);
    hog.join().unwrap().unwrap();
    soon("it works again", async || works(&coordinator, 1).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_connection_cut_again_and_again_loses_answers_and_never_mixes_them() {
    let server = RedisServer::start();
    let coordinator = server.usual().await;
    let started = Instant::now();
    let (mut round, mut answered) = (0, 0);
    while started.elapsed() < 2 * SECOND {
        round += 1;
        let (key, token) = (key(round), token(1));
        if coordinator.begin(&key, &begin(token)).await == Ok(LEAD) {
            let outcome = envelope(Status::Done, token, &round.to_be_bytes());
            coordinator.finish(&key, &finish(outcome)).await.ok();
        }
        if let Ok(Some(state)) = coordinator.read(&key).await {
            let envelope = coalesce_runtime::coordination::Envelope::decode(&key, &state);
            assert_eq!(envelope.unwrap().payload[..], round.to_be_bytes());
            answered += 1;
        }
        if round % 50 == 0 {
            // Who asks for it is among them.
            let _ = (server.connection()).command(&["CLIENT", "KILL", "TYPE", "normal"]);
        }
        tokio::time::sleep(MS).await;
    }
    assert!(answered > 50, "{answered} of {round}");
    assert_eq!(coordinator.health().misrouted, 0);
}
