//! Lost bytes: replies that never come, or come to the wrong request. No value is ever another key's.

use std::time::Instant;

use coalesce_rig::{Mode, Proxy, RedisServer, Way, eventually, holds};
use coalesce_runtime::coordination::{
    BeginAnswer, Coordinator as _, Envelope, FinishAnswer, Notice, Status,
};
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::scene::{LEAD, MS, SECOND, begin, envelope, finish, key, lock, soon, state, token};

async fn behind(proxy: &Proxy) -> RedisCoordinator {
    let coordinator = RedisCoordinator::connect(RedisSettings::new(proxy.url())).await;
    coordinator.unwrap()
}

/// A question whose answer was lost is asked again with the same token, and answered as if for the first time.
#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_are_recognised_by_the_token() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.port());
    let coordinator = behind(&proxy).await;
    let (key, token) = (key(1), token(1));
    // Its script must be known: a lost NOSCRIPT is a question that was never asked.
    let outcome = finish(envelope(Status::Done, token, b"v"));
    coordinator
        .begin(&crate::scene::key(2), &begin(token))
        .await
        .unwrap();
    coordinator
        .finish(&crate::scene::key(3), &outcome)
        .await
        .unwrap();

    proxy.set(Mode::Swallow(Way::Down));
    let begun = coordinator.begin(&key, &begin(token)).await;
    assert_eq!(begun, Err(Fault::Timeout));
    proxy.set(Mode::Pass);
    eventually("it was executed", || {
        server.ask(&["EXISTS", &lock(1)]) == "1"
    });
    soon("it is told that it leads already", async || {
        matches!(
            coordinator.begin(&key, &begin(token)).await,
            Ok(BeginAnswer::Lead { .. })
        )
    })
    .await;

    proxy.set(Mode::Swallow(Way::Down));
    assert!(coordinator.finish(&key, &outcome).await.is_err());
    proxy.set(Mode::Pass);
    eventually("it was executed", || {
        server.ask(&["EXISTS", &state(1)]) == "1"
    });
    soon("it is told that it is stored", async || {
        coordinator.finish(&key, &outcome).await == Ok(FinishAnswer::Stored)
    })
    .await;
}

/// The client matches replies to requests by their order alone: after a lost one, all are shifted.
#[tokio::test(flavor = "multi_thread")]
async fn shifted_replies_never_become_values_of_another_key() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.port());
    let coordinator = behind(&proxy).await;
    for number in 0..50_u32 {
        let outcome = envelope(Status::Done, token(1), &number.to_be_bytes());
        coordinator
            .begin(&key(number), &begin(token(1)))
            .await
            .unwrap();
        coordinator
            .finish(&key(number), &finish(outcome))
            .await
            .unwrap();
    }
    for round in 0..5 {
        proxy.set(Mode::Swallow(Way::Down));
        let first = key(1);
        let lost = tokio::join!(coordinator.read(&first), async {
            coordinator.begin(&key(100 + round), &begin(token(2))).await
        });
        assert!(lost.0.is_err() && lost.1.is_err());
        proxy.set(Mode::Pass);
        let mut readers = tokio::task::JoinSet::new();
        for number in 0..50_u32 {
            let coordinator = coordinator.clone();
            readers.spawn(async move {
                for _ in 0..20 {
                    if let Ok(Some(state)) = coordinator.read(&key(number)).await {
                        let value = Envelope::decode(&key(number), &state).unwrap();
                        assert_eq!(value.payload[..], number.to_be_bytes());
                    }
                    // A lock that is free is led; a reply that says otherwise is another request's.
                    let free = key(1_000 + 100 * round + number);
                    let begun = coordinator.begin(&free, &begin(token(3))).await;
                    assert!(matches!(begun, Ok(LEAD) | Err(_)), "{begun:?}");
                    tokio::time::sleep(5 * MS).await;
                }
            });
        }
        readers.join_all().await;
        soon("it works again", async || {
            matches!(coordinator.read(&key(1)).await, Ok(Some(_)))
                && coordinator
                    .begin(&key(100 + round), &begin(token(2)))
                    .await
                    .is_ok()
        })
        .await;
    }
    // Otherwise nothing was shifted, and there was nothing to see through.
    assert!(coordinator.health().misrouted > 0);
}

/// An answer to PING in the place of a state is no state of any key, so its bytes alone do not show that it is another's.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_no_state_at_all_is_asked_for_again_and_its_connection_given_up() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.port());
    // A busy machine may take five times as long as any other.
    let settings = RedisSettings::new(proxy.url()).deadline(5 * 250 * MS);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    let (key, token) = (key(1), token(1));
    coordinator.begin(&key, &begin(token)).await.unwrap();
    let outcome = finish(envelope(Status::Done, token, b"v"));
    coordinator.finish(&key, &outcome).await.unwrap();
    let connections = proxy.connections();
    proxy.send_stray(b"$5\r\n12345\r\n", |request| {
        holds(request, b"\r\nGETRANGE\r\n")
    });
    let read = coordinator.read(&key).await.unwrap().unwrap();
    let value = Envelope::decode(&key, &read).unwrap();
    assert_eq!((value.token, &value.payload[..]), (token, &b"v"[..]));
    eventually("its connection is another", || {
        proxy.connections() > connections
    });
    soon("it reads again", async || {
        coordinator.read(&key).await == Ok(Some(read.clone()))
    })
    .await;

    // PING may have been asked there too, and have had another's answer.
    let misrouted = coordinator.health().misrouted;
    assert!(misrouted >= 1);

    // What is stored like that is a miss like any other, and no reason to connect anew.
    server.ask(&["SET", &state(1), "12345"]);
    assert_eq!(coordinator.read(&key).await.unwrap().unwrap(), "12345");
    assert_eq!(coordinator.health().misrouted, misrouted);
}

/// Nobody writes on the listening connection, so nobody but the probe can notice that it is dead.
#[tokio::test(flavor = "multi_thread")]
async fn a_listening_connection_that_became_a_black_hole_is_replaced() {
    let server = RedisServer::start();
    let proxy = Proxy::before(server.port());
    let coordinator = behind(&proxy).await;
    let mut listener = coordinator.listen(&key(1)).await.unwrap();
    let connections = proxy.connections();
    proxy.swallow_present();
    let swallowed = Instant::now();
    let notice = tokio::time::timeout(10 * SECOND, listener.next()).await;
    assert_eq!(notice.ok(), Some(Notice::Gap));
    // Two beats and a new connection; the rest is for a busy machine.
    assert!(
        swallowed.elapsed() < 5 * SECOND,
        "{:?}",
        swallowed.elapsed()
    );
    soon("all lines are new", async || {
        coordinator.read(&key(1)).await.is_ok()
            && coordinator.begin(&key(1), &begin(token(1))).await.is_ok()
    })
    .await;
    assert_eq!(proxy.connections() - connections, 3);
}
