//! Reading: one GETRANGE, and what it makes of bytes that are not this key's.

use bytes::Bytes;
use coalesce_rig::RedisServer;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator as _, Envelope, Seen, Status, Traceparent,
};
use coalesce_runtime::{BreakerState, Fault, RedisCoordinator};

use crate::scene::{Coordinated, LEAD, SECOND, begin, envelope, finish, key, lock, state, token};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test(flavor = "multi_thread")]
async fn a_read_is_exactly_one_getrange_and_nothing_else() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["CONFIG", "RESETSTAT"]);
    for _ in 0..100 {
        assert_eq!(coordinator.read(&key(1)).await, Ok(None));
    }
    assert_eq!(server.calls("getrange"), 100);
    assert_eq!(server.calls("evalsha") + server.calls("eval"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_read_byte_for_byte() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let mut plain = server.connection();
    let states: [&[u8]; 2] = [b"text", b"\xff\x00\r\n$5\r\n"];
    for bytes in states {
        plain
            .command_bytes(&[b"SET", state(1).as_bytes(), bytes, b"PX", b"60000"])
            .unwrap();
        let read = coordinator.read(&key(1)).await;
        assert_eq!(read, Ok(Some(Bytes::copy_from_slice(bytes))));
    }
}

/// An empty text is nobody's state, and GETRANGE says of it what it says of nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_state_is_none_to_every_question() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["SET", &state(1), "", "PX", "60000"]);
    assert_eq!(coordinator.read(&key(1)).await, Ok(None));
    let ask = BeginAsk {
        seen: Some(Seen::from(token(9))),
        ..begin(token(1))
    };
    assert_eq!(coordinator.begin(&key(1), &ask).await, Ok(LEAD));
}

/// What is no longer than a process takes is whole; of anything else it gets no more than that, whatever it asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_longer_than_any_call_site_takes_is_cut_and_a_miss() {
    const LEAST: usize = 16 << 20;
    const LIMIT: usize = 17 << 20;
    let server = RedisServer::start();
    // A busy machine needs more than the usual deadline for that many bytes.
    let reader = RedisCoordinator::connect(server.settings().deadline(5 * SECOND)).await;
    let reader = reader.unwrap();
    let trace = Traceparent::parse(TRACE);
    let of = |length: usize| Envelope {
        trace,
        ..envelope(Status::Done, token(7), &vec![7; length])
    };
    let seen = BeginAsk {
        seen: Some(Seen::from(token(9))),
        ..begin(token(1))
    };
    for (taken, length, fits) in [
        (0, LEAST, true),
        (0, LEAST + 1, false),
        (LIMIT, LIMIT, true),
        // What was said once counts.
        (1, LIMIT, true),
        (1, LIMIT + 1, false),
        (1, 20 << 20, false),
    ] {
        reader.takes(taken);
        let bytes = of(length).encode(&key(1));
        let mut plain = server.connection();
        let set = plain.command_bytes(&[b"SET", state(1).as_bytes(), &bytes, b"PX", b"60000"]);
        set.unwrap();
        let read = reader.read(&key(1)).await.unwrap().unwrap();
        assert_eq!(Envelope::decode(&key(1), &read).is_ok(), fits, "{length}");
        assert!(read.len() <= LIMIT + 93, "{length}");
        assert_eq!(read == bytes, fits, "{length}");
        let BeginAnswer::State(begun) = reader.begin(&key(1), &seen).await.unwrap() else {
            panic!("a state that is news");
        };
        assert_eq!(begun, read, "{length}");
    }
    // Another key's is looked at twice, and no further either.
    let other = of(20 << 20).encode(&key(2));
    let mut plain = server.connection();
    let set = plain.command_bytes(&[b"SET", state(1).as_bytes(), &other, b"PX", b"60000"]);
    set.unwrap();
    let read = reader.read(&key(1)).await.unwrap().unwrap();
    assert_eq!(read.len(), LIMIT + 93);
    assert_eq!(reader.health().misrouted, 0);
}

/// The rest of it would be the trace of a leader.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_any_length_is_foreign_and_costs_no_more_than_its_beginning() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["CONFIG", "RESETSTAT"]);
    for text in [String::new(), "x".repeat(4 << 20)] {
        server.ask(&["SET", &lock(1), &text, "PX", "60000"]);
        let sent = sent_by(&server);
        let begun = coordinator.begin(&key(1), &begin(token(1))).await;
        assert_eq!(begun, Err(Fault::ForeignType), "{} bytes", text.len());
        let sent = sent_by(&server) - sent;
        assert!(sent < 1 << 20, "{sent} bytes came of {}", text.len());
    }
}

fn sent_by(server: &RedisServer) -> u64 {
    let sent = server.info("stats", "total_net_output_bytes");
    sent.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_of_a_foreign_type_is_said_to_be_foreign_by_every_question() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    server.ask(&["LPUSH", &state(1), "x"]);
    let (key, token) = (key(1), token(1));
    assert_eq!(coordinator.read(&key).await, Err(Fault::ForeignType));
    let begun = coordinator.begin(&key, &begin(token)).await;
    assert_eq!(begun, Err(Fault::ForeignType));
    let outcome = finish(envelope(Status::Done, token, b"v"));
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
