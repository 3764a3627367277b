//! A server that answers and refuses to write in the middle of a flight: nobody is left to wait for a lease.

use coalesce_rig::{RedisServer, eventually};
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, Coordinator as _, Envelope, FinishAnswer, Listener, Message, Notice,
    RenewAnswer, RenewAsk, Seen, ServerTime, Status, Token,
};
use coalesce_runtime::{Fault, Key, RedisCoordinator};
use tokio::time::timeout;

use crate::scene::{Coordinated, LEAD, SECOND, begin, envelope, finish, key, lock, token};

/// What makes a server refuse, and what makes it write again.
const REFUSALS: [[&[&str]; 2]; 3] = [
    [
        &["CONFIG", "SET", "min-replicas-to-write", "1"],
        &["CONFIG", "SET", "min-replicas-to-write", "0"],
    ],
    [
        &["REPLICAOF", "127.0.0.1", "1"],
        &["REPLICAOF", "NO", "ONE"],
    ],
    [
        &["CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"],
        &["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"],
    ],
];

/// A server that cannot save, and forgives itself for it.
fn server() -> RedisServer {
    // Nothing can be created in that folder, not even by root.
    let broken = ["--save", "3600 1000000", "--dir", "/proc"];
    let forgiven = ["--stop-writes-on-bgsave-error", "no"];
    let server = RedisServer::start_with(&[&broken[..], &forgiven].concat());
    server.ask(&["BGSAVE"]);
    eventually("saving has failed", || {
        let report = server.ask(&["INFO", "persistence"]);
        report.contains("rdb_last_bgsave_status:err")
    });
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn who_would_follow_learns_that_nothing_can_be_written() {
    let server = server();
    let coordinator = server.coordinator().await;
    assert_eq!(coordinator.begin(&key(1), &begin(token(1))).await, Ok(LEAD));
    for [refuse, write] in REFUSALS {
        server.ask(refuse);
        for number in [1, 2] {
            let answer = coordinator.begin(&key(number), &begin(token(2))).await;
            assert_eq!(answer, Err(Fault::Refused), "{number}: {refuse:?}");
        }
        server.ask(write);
        let answer = coordinator.begin(&key(1), &begin(token(2))).await;
        assert!(matches!(answer, Ok(BeginAnswer::Follow { .. })));
    }
    // A flight in progress can end when memory is full: it is still worth following.
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let answer = coordinator.begin(&key(1), &begin(token(2))).await;
    assert!(matches!(answer, Ok(BeginAnswer::Follow { .. })));
    let answer = coordinator.begin(&key(2), &begin(token(2))).await;
    assert_eq!(answer, Err(Fault::Refused), "and no new one begins");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_may_not_touch_locks_follows_all_the_same() {
    let server = RedisServer::start();
    server.ask(&["ACL", "SETUSER", "default", "-getex"]);
    let coordinator = server.coordinator().await;
    coordinator.begin(&key(1), &begin(token(1))).await.unwrap();
    let answer = coordinator.begin(&key(1), &begin(token(2))).await;
    assert!(matches!(answer, Ok(BeginAnswer::Follow { .. })));
}

/// A flight in progress, and who hears of it.
async fn followed(coordinator: &RedisCoordinator, key: &Key, leader: Token) -> Listener {
    coordinator.begin(key, &begin(leader)).await.unwrap();
    coordinator.listen(key).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_cannot_be_stored_is_told_and_stored_when_it_can() {
    let server = server();
    let coordinator = server.coordinator().await;
    for (number, [refuse, write]) in (1..).zip(REFUSALS) {
        let (key, leader) = (key(number), token(1));
        let mut ear = followed(&coordinator, &key, leader).await;
        server.ask(refuse);
        let outcome = finish(envelope(Status::Done, leader, b"v"));
        let answer = coordinator.finish(&key, &outcome).await;
        assert_eq!(answer, Err(Fault::Refused), "{refuse:?}");
        let heard = timeout(5 * SECOND, ear.next()).await.unwrap();
        let Notice::Message(Message::Outcome { envelope, .. }) = heard else {
            panic!("{heard:?}")
        };
        assert_eq!((envelope.token, &envelope.payload[..]), (leader, &b"v"[..]));
        server.ask(write);
        let answer = coordinator.finish(&key, &outcome).await;
        assert_eq!(answer, Ok(FinishAnswer::Stored));
        assert_eq!(server.ask(&["EXISTS", &lock(number)]), "0");
        let read = coordinator.read(&key).await.unwrap().unwrap();
        assert_eq!(Envelope::decode(&key, &read).unwrap().token, leader);
    }
}

/// Whoever holds another's lock or none has nothing to tell, whether or not it could be written.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_outcome_is_told_to_nobody_while_nothing_can_be_written() {
    let server = server();
    let coordinator = server.coordinator().await;
    let key = key(1);
    coordinator.begin(&key, &begin(token(1))).await.unwrap();
    server.ask(REFUSALS[0][0]);
    let late = finish(envelope(Status::Done, token(2), b"late"));
    let answer = coordinator.finish(&key, &late).await;
    assert_eq!(answer, Ok(FinishAnswer::Lost));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_flight_is_told_although_its_lock_cannot_be_freed() {
    let server = server();
    let coordinator = server.coordinator().await;
    for (number, [refuse, write]) in (1..).zip(REFUSALS) {
        let (key, leader) = (key(number), token(1));
        let mut ear = followed(&coordinator, &key, leader).await;
        server.ask(refuse);
        let answer = coordinator
            .abandon(&key, AbandonAsk::body_failed(leader))
            .await;
        assert_eq!(answer, Err(Fault::Refused), "{refuse:?}");
        let heard = timeout(5 * SECOND, ear.next()).await.unwrap();
        let told = Notice::Message(Message::Abandoned {
            token: leader,
            body_failed: true,
        });
        assert_eq!(heard, told);
        server.ask(write);
        assert_eq!(
            coordinator
                .abandon(&key, AbandonAsk::body_failed(leader))
                .await,
            Ok(true)
        );
    }
}

fn renewal(number: u32) -> RenewAsk {
    RenewAsk {
        key: key(number),
        token: token(1),
        seen: Seen::NOTHING,
        lease: 3 * SECOND,
        retake_until: ServerTime::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_cannot_be_renewed_is_not_called_lost() {
    let server = server();
    let coordinator = server.coordinator().await;
    coordinator.begin(&key(1), &begin(token(1))).await.unwrap();
    for [refuse, write] in REFUSALS {
        server.ask(refuse);
        let answers = coordinator.renew(&[renewal(1)]).await.unwrap();
        assert_eq!(answers, [Err(Fault::Refused)], "{refuse:?}");
        server.ask(write);
        let answers = coordinator.renew(&[renewal(1)]).await.unwrap();
        assert_eq!(answers, [Ok(RenewAnswer::Held)]);
    }
}

/// Within a script the server has other words for it than outside, and other ones in each version.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_missing_is_one_fault_whichever_question_needs_it() {
    let server = RedisServer::start();
    let coordinator = server.coordinator().await;
    let (led, new, denied) = (key(1), key(2), Err(Fault::Denied));
    coordinator.begin(&led, &begin(token(1))).await.unwrap();
    let outcome = finish(envelope(Status::Done, token(1), b"v"));
    let abandoned = AbandonAsk::body_failed(token(1));
    let without = |right: &str| {
        server.ask(&["ACL", "SETUSER", "default", "~*", "+@all"]);
        server.ask(&["ACL", "SETUSER", "default", right]);
    };
    without("-pexpire");
    let renewed = coordinator.renew(&[renewal(1)]).await.unwrap();
    assert_eq!(renewed, [denied.map(|()| RenewAnswer::Held)]);
    without("-evalsha");
    let renewed = coordinator.renew(&[renewal(1)]).await.unwrap();
    assert_eq!(renewed, [denied.map(|()| RenewAnswer::Held)]);
    without("-set");
    let begun = coordinator.begin(&new, &begin(token(2))).await;
    assert_eq!(begun, denied.map(|()| LEAD));
    without("-del");
    let ended = coordinator.abandon(&led, abandoned).await;
    assert_eq!(ended, denied.map(|()| true));
    let finished = coordinator.finish(&led, &outcome).await;
    assert_eq!(finished, denied.map(|()| FinishAnswer::Stored));
    without("-getrange");
    assert_eq!(coordinator.read(&led).await, denied.map(|()| None));
    // Of the keys, not of the commands.
    without("resetkeys");
    assert_eq!(coordinator.read(&led).await, denied.map(|()| None));
    let begun = coordinator.begin(&new, &begin(token(2))).await;
    assert_eq!(begun, denied.map(|()| LEAD));
    assert_eq!(
        coordinator.health().last_fault.map(|last| last.fault),
        Some(Fault::Denied)
    );
    without("~*");
    let finished = coordinator.finish(&led, &outcome).await;
    assert_eq!(finished, Ok(FinishAnswer::Stored));
}
