//! Reading: one GET, and what it makes of bytes that are not this key's.

use bytes::Bytes;
use coalesce_rig::RedisServer;
use coalesce_runtime::coordination::{AbandonAsk, Coordinator as _, Envelope, Status};
use coalesce_runtime::{BreakerState, Fault};

use crate::scene::{Coordinated, envelope, key, lock, state, token};

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_exactly_one_get_and_nothing_else() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["CONFIG", "RESETSTAT"]);
    for _ in 0..100 {
        assert_eq!(coordinator.read(&key(1)).await, Ok(None));
    }
    assert_eq!(server.calls("get"), 100);
    assert_eq!(server.calls("evalsha") + server.calls("eval"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_read_byte_for_byte() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut plain = server.connection();
    let states: [&[u8]; 3] = [b"", b"text", b"\xff\x00\r\n$5\r\n"];
    for bytes in states {
        plain
            .command_bytes(&[b"SET", state(1).as_bytes(), bytes, b"PX", b"60000"])
            .unwrap();
        let read = coordinator.read(&key(1)).await;
        assert_eq!(read, Ok(Some(Bytes::copy_from_slice(bytes))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_of_a_foreign_type_is_said_to_be_foreign_by_every_question() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["LPUSH", &state(1), "x"]);
    let (key, token) = (key(1), token(1));
    assert_eq!(coordinator.read(&key).await, Err(Fault::ForeignType));
    let begun = coordinator.begin(&key, &crate::scene::begin(token)).await;
    assert_eq!(begun, Err(Fault::ForeignType));
    let outcome = crate::scene::finish(envelope(Status::Done, token, b"v"));
    let finished = coordinator.finish(&key, &outcome).await;
    assert_eq!(finished, Err(Fault::ForeignType));
    server.ask(&["DEL", &state(1)]);
    server.ask(&["LPUSH", &lock(1), "x"]);
    let abandoned = coordinator
        .abandon(&key, AbandonAsk::body_failed(token))
        .await;
    assert_eq!(abandoned, Err(Fault::ForeignType));
    assert_eq!(coordinator.health().breaker, BreakerState::Closed);
}

/// Somebody copied the entry of one key to another. It is a miss that the next flight overwrites, and
/// not a reason to reconnect again and again.
#[tokio::test(flavor = "multi_thread")]
async fn a_stored_envelope_of_another_key_is_returned_for_the_caller_to_miss() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let connections = server.connections_taken();
    let other = envelope(Status::Done, token(9), b"secret").encode(&key(2));
    let mut plain = server.connection();
    plain
        .command_bytes(&[b"SET", state(1).as_bytes(), &other, b"PX", b"60000"])
        .unwrap();
    for _ in 0..20 {
        let read = coordinator.read(&key(1)).await.unwrap().unwrap();
        assert!(Envelope::decode(&key(1), &read).is_err());
    }
    let after = server.connections_taken();
    // The two are this test's own questions.
    assert!(after - connections <= 2, "{} more", after - connections);
}
