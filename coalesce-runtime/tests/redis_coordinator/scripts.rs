//! The scripts: expiries, unknown scripts, full memory, refused messages, and the bytes they write.

use std::task::Poll;
use std::time::Duration;

use coalesce_rig::{RedisServer, eventually};
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, Coordinator as _, Envelope, FinishAnswer, FinishAsk, Message, Notice,
    RenewAnswer, RenewAsk, ReplaceAsk, Seen, ServerTime, Status,
};
use coalesce_runtime::{BreakerState, Fault};

use crate::scene::{
    Coordinated, LEAD, SECOND, begin, envelope, finish, key, lock, soon, state, token,
};

fn ttl(server: &RedisServer, name: &str) -> i64 {
    server.ask(&["PTTL", name]).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_and_state_always_expire() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (key, token) = (key(1), token(1));
    assert_eq!(coordinator.begin(&key, &begin(token)).await, Ok(LEAD));
    assert!((1..=3_000).contains(&ttl(&server, &lock(1))));
    let renewal = RenewAsk {
        key: key.clone(),
        token,
        seen: Seen::NOTHING,
        lease: 9 * SECOND,
        retake_until: ServerTime::default(),
    };
    let renewed = coordinator.renew(&[renewal]).await;
    assert_eq!(renewed, Ok(vec![Ok(RenewAnswer::Held)]));
    assert!((3_001..=9_000).contains(&ttl(&server, &lock(1))));
    let replacement = ReplaceAsk {
        envelope: envelope(Status::Invalidated, crate::scene::token(2), b""),
        life: 30 * SECOND,
    };
    assert_eq!(coordinator.replace(&key, &replacement).await, Ok(true));
    assert!((1..=9_000).contains(&ttl(&server, &lock(1))));
    assert!((1..=30_000).contains(&ttl(&server, &state(1))));
    let outcome = finish(envelope(Status::Done, token, b"v"));
    let finished = coordinator.finish(&key, &outcome).await;
    assert!(matches!(finished, Ok(FinishAnswer::Fenced { .. })));
    assert_eq!(server.ask(&["EXISTS", &lock(1)]), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_nothing_is_a_millisecond() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let ask = coalesce_runtime::coordination::BeginAsk {
        lease: Duration::ZERO,
        ..begin(token(1))
    };
    assert_eq!(coordinator.begin(&key(1), &ask).await, Ok(LEAD));
    eventually("the lock is gone", || {
        server.ask(&["EXISTS", &lock(1)]) == "0"
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_the_owners_token_and_the_moment_of_its_fence() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (key, owner) = (key(1), token(0xab));
    coordinator.begin(&key, &begin(owner)).await.unwrap();
    assert_eq!(server.ask(&["GET", &lock(1)]), "ab".repeat(16));
    let replacement = ReplaceAsk {
        envelope: envelope(Status::Invalidated, token(2), b""),
        life: 30 * SECOND,
    };
    coordinator.replace(&key, &replacement).await.unwrap();
    let fenced = server.ask(&["GET", &lock(1)]);
    let (holder, at) = fenced.split_once('!').unwrap();
    assert_eq!(holder, "ab".repeat(16));
    // A moment of this century in microseconds, to the last digit.
    assert_eq!((at.len(), at.parse::<u64>().is_ok()), (16, true));
    let answer = coordinator
        .finish(&key, &finish(envelope(Status::Done, owner, b"")))
        .await;
    let Ok(FinishAnswer::Fenced { at: told }) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(told.as_micros().to_string(), at);
}

/// Redis computes in doubles. Today's microseconds need 51 of their 53 bits.
#[tokio::test(flavor = "multi_thread")]
async fn big_numbers_are_packed_exactly() {
    let server = RedisServer::start();
    let mut plain = server.connection();
    for number in [
        0,
        1,
        255,
        (1_u64 << 50) + 1,
        (1 << 53) - 1,
        1_790_000_000_123_457,
    ] {
        let script = format!("return struct.pack('>I8', {number})");
        let packed = plain.command(&["EVAL", &script, "0"]).unwrap();
        assert_eq!(packed.bytes(), number.to_be_bytes());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_survive_a_flushed_script_cache() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    for round in 1..=5_u8 {
        server.ask(&["SCRIPT", "FLUSH"]);
        let (key, token) = (key(u32::from(round)), token(round));
        assert_eq!(coordinator.begin(&key, &begin(token)).await, Ok(LEAD));
        server.ask(&["SCRIPT", "FLUSH"]);
        let outcome = finish(envelope(Status::Done, token, b"v"));
        let finished = coordinator.finish(&key, &outcome).await;
        assert_eq!(finished, Ok(FinishAnswer::Stored));
        server.ask(&["SCRIPT", "FLUSH"]);
        assert_eq!(
            coordinator
                .abandon(&key, AbandonAsk::body_failed(token))
                .await,
            Ok(false)
        );
    }
    assert_eq!(coordinator.health().last_fault, None);
}

/// Once known, a script is never sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_known_script_is_one_short_command() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    coordinator.begin(&key(1), &begin(token(1))).await.unwrap();
    server.ask(&["CONFIG", "RESETSTAT"]);
    for number in 2..52 {
        coordinator
            .begin(&key(number), &begin(token(1)))
            .await
            .unwrap();
    }
    assert_eq!((server.calls("evalsha"), server.calls("eval")), (50, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_refresh_is_noted_in_place_and_the_expiry_stays() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (key, first) = (key(1), token(1));
    coordinator.begin(&key, &begin(first)).await.unwrap();
    let value = FinishAsk {
        life: 5 * SECOND,
        ..finish(envelope(Status::Done, first, b"value"))
    };
    assert_eq!(
        coordinator.finish(&key, &value).await,
        Ok(FinishAnswer::Stored)
    );
    let before = coordinator.read(&key).await.unwrap().unwrap();
    let left = ttl(&server, &state(1));
    let failures = [token(2), token(3)];
    // The value carries the token of the flight that failed to replace it.
    for (failure, seen) in failures.into_iter().zip([first, token(2)]) {
        let ask = coalesce_runtime::coordination::BeginAsk {
            seen: Some(Seen::from(seen)),
            ..begin(failure)
        };
        coordinator.begin(&key, &ask).await.unwrap();
        let failed = FinishAsk {
            life: 600 * SECOND,
            spare_value: Some(SECOND),
            ..finish(envelope(Status::Failed, failure, b"error"))
        };
        assert_eq!(
            coordinator.finish(&key, &failed).await,
            Ok(FinishAnswer::Spared)
        );
    }
    assert!((1..=left).contains(&ttl(&server, &state(1))));
    let after = coordinator.read(&key).await.unwrap().unwrap();
    let (old, new) = (
        Envelope::decode(&key, &before),
        Envelope::decode(&key, &after),
    );
    let (old, new) = (old.unwrap(), new.unwrap());
    // The second failure in a row doubled the pause.
    let pause = coordinator
        .clock(&key)
        .server_at(tokio::time::Instant::now())
        .until(new.refresh_after);
    assert!(pause > SECOND && pause <= 2 * SECOND, "{pause:?}");
    assert_eq!((new.failed_refreshes, new.token), (2, token(3)));
    let restored = Envelope {
        failed_refreshes: 0,
        token: old.token,
        refresh_after: old.refresh_after,
        ..new
    };
    assert_eq!(restored, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_lock_of_a_foreign_type_costs_no_other_its_lease() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut asks = Vec::new();
    for number in 0..250 {
        coordinator
            .begin(&key(number), &begin(token(1)))
            .await
            .unwrap();
        asks.push(RenewAsk {
            key: key(number),
            token: token(1),
            seen: Seen::NOTHING,
            lease: 30 * SECOND,
            retake_until: ServerTime::default(),
        });
    }
    server.ask(&["DEL", &lock(7)]);
    server.ask(&["LPUSH", &lock(7), "x"]);
    coordinator.renew(&asks[..1]).await.unwrap();
    server.ask(&["CONFIG", "RESETSTAT"]);
    let answers = coordinator.renew(&asks).await.unwrap();
    assert_eq!(server.calls("evalsha"), 3);
    for (number, answer) in answers.iter().enumerate() {
        let expected = if number == 7 {
            Err(Fault::ForeignType)
        } else {
            Ok(RenewAnswer::Held)
        };
        assert_eq!(*answer, expected, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_redis_refuses_new_locks_and_lets_flights_end() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (old, leader) = (key(1), token(1));
    for number in 1..4 {
        coordinator
            .begin(&key(number), &begin(leader))
            .await
            .unwrap();
    }
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let refused = coordinator.begin(&key(9), &begin(leader)).await;
    assert_eq!(refused, Err(Fault::Refused));
    let outcome = finish(envelope(Status::Done, leader, b"v"));
    assert_eq!(
        coordinator.finish(&old, &outcome).await,
        Ok(FinishAnswer::Stored)
    );
    assert_eq!(
        coordinator
            .abandon(&key(2), AbandonAsk::body_failed(leader))
            .await,
        Ok(true)
    );
    let invalidation = ReplaceAsk {
        envelope: envelope(Status::Invalidated, token(2), b""),
        life: 30 * SECOND,
    };
    assert_eq!(coordinator.replace(&old, &invalidation).await, Ok(false));
    let read = coordinator.read(&old).await.unwrap().unwrap();
    assert_eq!(
        Envelope::decode(&old, &read).unwrap().status,
        Status::Invalidated
    );
    // An answer nobody likes is still an answer.
    assert_eq!(coordinator.health().breaker, BreakerState::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_cannot_be_published_is_stored_all_the_same() {
    let server = RedisServer::start();
    server.ask(&[
        "ACL",
        "SETUSER",
        "mute",
        "on",
        ">pw",
        "~*",
        "resetchannels",
        "+@all",
    ]);
    let url = format!("redis://mute:pw@127.0.0.1:{}", server.port());
    let settings = coalesce_runtime::RedisSettings::new(url);
    let coordinator = coalesce_runtime::RedisCoordinator::connect(settings)
        .await
        .unwrap();
    let (key, token) = (key(1), token(1));
    coordinator.begin(&key, &begin(token)).await.unwrap();
    let outcome = finish(envelope(Status::Done, token, b"v"));
    assert_eq!(
        coordinator.finish(&key, &outcome).await,
        Ok(FinishAnswer::Stored)
    );
    assert_eq!(server.ask(&["EXISTS", &lock(1)]), "0");
    let read = coordinator.read(&key).await.unwrap().unwrap();
    assert_eq!(&Envelope::decode(&key, &read).unwrap().payload[..], b"v");
}

#[tokio::test(flavor = "multi_thread")]
async fn big_outcomes_send_the_follower_to_the_state_and_small_ones_travel() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    for (number, size) in [(1, 8 * 1024), (2, 8 * 1024 + 1)] {
        let (key, token) = (key(number), token(1));
        coordinator.begin(&key, &begin(token)).await.unwrap();
        let mut listener = coordinator.listen(&key).await.unwrap();
        let outcome = envelope(Status::Done, token, &vec![5; size]);
        coordinator.finish(&key, &finish(outcome)).await.unwrap();
        let heard = tokio::time::timeout(5 * SECOND, listener.next())
            .await
            .unwrap();
        match heard {
            Notice::Message(Message::Outcome { envelope, .. }) if number == 1 => {
                assert_eq!(envelope.payload.len(), size);
                let read = coordinator.read(&key).await.unwrap().unwrap();
                assert_eq!(Envelope::decode(&key, &read), Ok(envelope));
            }
            Notice::Message(Message::Stored { token: of }) if number == 2 => assert_eq!(of, token),
            other => panic!("{number}: {other:?}"),
        }
    }
}

/// The asker went away before the answer; what was asked still happened.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_asked_to_its_end_although_nobody_waits() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (key, token) = (key(1), token(1));
    let asked = begin(token);
    let mut question = coordinator.begin(&key, &asked);
    // It is asked when it is first looked at, and dropped before it can be answered.
    std::future::poll_fn(|context| Poll::Ready(question.as_mut().poll(context).is_pending())).await;
    drop(question);
    soon("the lock is there", async || {
        server.ask(&["EXISTS", &lock(1)]) == "1"
    })
    .await;
    let again = coordinator.begin(&key, &asked).await;
    assert!(matches!(again, Ok(BeginAnswer::Lead { .. })));
}
