//! Slots of a cluster that move, or are being moved: their keys are shared all the time.

use std::time::Instant;

use bytes::Bytes;
use coalesce_rig::{Cluster, RedisServer, Topology as _, eventually};
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator as _, FinishAnswer, Message, Notice,
    RenewAnswer, RenewAsk, ReplaceAsk, Seen, ServerTime, Status,
};
use coalesce_runtime::{Fault, RedisCoordinator};

use crate::cluster::{DEADLINE, coordinator, coordinator_of, keys_on};
use crate::scene::{
    LEAD, LEAST, SECOND, begin, envelope, finish, grant_least, key, lock, soon, token,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_has_moved_is_followed_once_and_its_listeners_go_along() {
    let cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
    let number = keys_on(cluster.node(0)).next().unwrap();
    let (moved, token) = (key(number), token(1));
    let mut listener = coordinator.listen(&moved).await.unwrap();
    cluster.move_slot(&lock(number), 1);
    cluster.node(0).ask(&["CONFIG", "RESETSTAT"]);
    assert_eq!(coordinator.begin(&moved, &begin(token)).await, Ok(LEAD));
    for _ in 0..20 {
        assert_eq!(coordinator.read(&moved).await, Ok(None));
    }
    assert_eq!(coordinator.health().last_fault, None);
    assert_eq!(cluster.node(0).errors("MOVED"), 1);
    let mut next = async || tokio::time::timeout(5 * SECOND, listener.next()).await;
    assert_eq!(next().await, Ok(Notice::Gap));
    let channel = format!("coalesce:notify:{{shop::get_order:{number}}}");
    let listeners = |node: &RedisServer| node.ask(&["PUBSUB", "NUMSUB", &channel]);
    assert_eq!(listeners(cluster.node(1)), format!("{channel}\n1"));
    eventually("it is unsubscribed where it was", || {
        listeners(cluster.node(0)) == format!("{channel}\n0")
    });
    assert_eq!(
        coordinator
            .abandon(&moved, AbandonAsk::body_failed(token))
            .await,
        Ok(true)
    );
    let heard = Notice::Message(Message::Abandoned {
        token,
        body_failed: true,
    });
    assert_eq!(next().await, Ok(heard));
}

/// A key with a state and a lock, which can be asked for while they are being moved: the state, and the
/// question of who has the lock.
async fn held(coordinator: &RedisCoordinator, number: u32) -> (Option<Bytes>, BeginAsk) {
    let (key, first, second) = (key(number), token(1), token(2));
    assert_eq!(coordinator.begin(&key, &begin(first)).await, Ok(LEAD));
    let outcome = finish(envelope(Status::Done, first, b"v"));
    coordinator.finish(&key, &outcome).await.unwrap();
    let stored = coordinator.read(&key).await.unwrap();
    let ask = BeginAsk {
        seen: Some(Seen::of_state(stored.as_deref())),
        lease: 60 * SECOND,
        ..begin(second)
    };
    let led = coordinator.begin(&key, &ask).await;
    assert!(matches!(led, Ok(BeginAnswer::Lead { .. })), "{led:?}");
    (stored, ask)
}

/// ASKING counts for the very next command of a connection: whatever else is asked there at that moment,
/// it is the question that it was meant for.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_slot_that_is_being_moved_are_asked_for_where_they_are() {
    let cluster = Cluster::start_without_replicas();
    for node in cluster.servers() {
        grant_least(node, true);
    }
    let coordinator = coordinator_of(LEAST, &cluster).await;
    let number = keys_on(cluster.node(0)).next().unwrap();
    let (moving, second) = (key(number), token(2));
    let (stored, seen) = held(&coordinator, number).await;
    cluster.begin_to_move(&lock(number), 1);

    let others: Vec<_> = keys_on(cluster.node(1)).take(8).collect();
    let others = others.into_iter().map(|other| {
        let coordinator = coordinator.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                assert_eq!(coordinator.read(&key(other)).await, Ok(None));
            }
        })
    });
    let others: Vec<_> = others.collect();
    cluster.node(1).ask(&["CONFIG", "RESETSTAT"]);
    for _ in 0..100 {
        assert_eq!(coordinator.read(&moving).await, Ok(stored.clone()));
        let again = coordinator.begin(&moving, &seen).await;
        assert!(matches!(again, Ok(BeginAnswer::Lead { .. })), "{again:?}");
    }
    for other in others {
        other.await.unwrap();
    }
    let outcome = finish(envelope(Status::Done, second, b"w"));
    let finished = coordinator.finish(&moving, &outcome).await;
    assert_eq!(finished, Ok(FinishAnswer::Stored));
    assert_eq!(cluster.node(0).errors("ASK"), 201);
    assert_eq!(cluster.node(1).errors("MOVED"), 0);
    assert_eq!(coordinator.health().last_fault, None);
}

/// Whatever is asked, and whichever node is asked first: the rule of the operators' page is enough on all of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_least_rights_are_enough_on_three_nodes_while_slots_move_between_them() {
    let cluster = Cluster::start_without_replicas();
    for node in cluster.servers() {
        grant_least(node, true);
    }
    let coordinator = coordinator_of(LEAST, &cluster).await;
    let numbers = cluster.servers().into_iter();
    let numbers: Vec<_> = numbers.map(|node| keys_on(node).next().unwrap()).collect();
    for (from, number) in numbers.iter().enumerate() {
        cluster.node(from).ask(&["CONFIG", "RESETSTAT"]);
        cluster.move_slot(&lock(*number), (from + 1) % 3);
        let (key, first) = (key(*number), token(1));
        // The first question is sent to where it is served now, and each listener hears of what follows.
        assert_eq!(coordinator.begin(&key, &begin(first)).await, Ok(LEAD));
        // The table that is asked for behind the first may come before the next question.
        let sent_on = cluster.node(from).errors("MOVED");
        assert!(sent_on == 1 || (from > 0 && sent_on == 0), "{sent_on}");
        let mut listener = coordinator.listen(&key).await.unwrap();
        let renewal = RenewAsk {
            key: key.clone(),
            token: first,
            seen: Seen::NOTHING,
            lease: 3 * SECOND,
            retake_until: ServerTime::default(),
        };
        let renewed = coordinator.renew(&[renewal]).await;
        assert_eq!(renewed, Ok(vec![Ok(RenewAnswer::Held)]));
        let outcome = finish(envelope(Status::Done, first, b"v"));
        let finished = coordinator.finish(&key, &outcome).await;
        assert_eq!(finished, Ok(FinishAnswer::Stored));
        let mut next = async || tokio::time::timeout(5 * SECOND, listener.next()).await;
        // Who listens where the table of a moment ago said so is told of the gap.
        let mut heard = next().await;
        while heard == Ok(Notice::Gap) {
            heard = next().await;
        }
        assert!(
            matches!(heard, Ok(Notice::Message(Message::Outcome { .. }))),
            "{heard:?}"
        );
        assert!(coordinator.read(&key).await.unwrap().is_some());
        let ask = BeginAsk {
            seen: None,
            ..begin(token(2))
        };
        assert!(matches!(
            coordinator.begin(&key, &ask).await,
            Ok(BeginAnswer::Lead { .. })
        ));
        let nothing = ReplaceAsk {
            envelope: envelope(Status::Invalidated, token(3), b""),
            life: 60 * SECOND,
        };
        // It fences that flight.
        assert_eq!(coordinator.replace(&key, &nothing).await, Ok(true));
        let abandoned = AbandonAsk::body_failed(token(2));
        assert_eq!(coordinator.abandon(&key, abandoned).await, Ok(true));
    }
    assert_eq!(coordinator.set_switch("ns:n", Some("off")).await, Ok(None));
    assert_eq!(coordinator.switches().await.unwrap().len(), 1);
    let names = ["n".to_owned()];
    assert_eq!(coordinator.announce(&names, 60 * SECOND).await, Ok(()));
    assert_eq!(coordinator.announced().await, Ok(names.to_vec()));
    for node in cluster.servers() {
        assert_eq!(node.ask(&["ACL", "LOG"]), "", "{}", node.port());
    }
}

/// The first slot of a node that is new to the cluster: no table names it while the slot is being moved.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_moved_to_a_node_without_any_is_shared_all_the_time() {
    let mut cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
    let number = keys_on(cluster.node(0)).next().unwrap();
    let (moving, (stored, seen)) = (key(number), held(&coordinator, number).await);
    assert_eq!(cluster.grow(), 3);
    cluster.begin_to_move(&lock(number), 3);
    cluster.node(3).ask(&["CONFIG", "RESETSTAT"]);
    let share_for_a_second = async || {
        let started = Instant::now();
        while started.elapsed() < SECOND {
            assert_eq!(coordinator.read(&moving).await, Ok(stored.clone()));
            let again = coordinator.begin(&moving, &seen).await;
            assert!(matches!(again, Ok(BeginAnswer::Lead { .. })), "{again:?}");
        }
    };
    share_for_a_second().await;
    // Its three lines were connected once; one more connection asks.
    assert_eq!(cluster.node(3).connections_taken(), 4);
    cluster.end_the_move(&lock(number), 0, 3);
    share_for_a_second().await;
    assert_eq!(coordinator.health().last_fault, None);
}

/// To a user without the right to ask for it a node's time stays unknown, so each question asks for it first. The node
/// that the slot has moved to hangs: its time is no question of its own, and its silence counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_node_is_asked_for_within_the_question_and_behind_its_breaker() {
    let cluster = Cluster::start_without_replicas();
    for (place, time) in ["+time", "-time", "+time"].iter().enumerate() {
        let words = ["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"];
        let said = cluster.node(place).ask(&[&words[..], &[time]].concat());
        assert_eq!(said, "OK");
    }
    let coordinator = coordinator_of("app:pw@", &cluster).await;
    let number = keys_on(cluster.node(0)).next().unwrap();
    assert_eq!(coordinator.read(&key(number)).await, Ok(None));
    cluster.move_slot(&lock(number), 1);
    for place in [0, 1] {
        cluster.node(place).freeze();
    }
    let (asked, moved) = (Instant::now(), key(number));
    let thawing = async {
        tokio::time::sleep(DEADLINE.mul_f64(0.8)).await;
        cluster.node(0).go_on();
    };
    let (answer, ()) = tokio::join!(coordinator.read(&moved), thawing);
    assert_eq!(answer, Err(Fault::Timeout));
    assert!(
        asked.elapsed() < DEADLINE.mul_f64(1.5),
        "{:?}",
        asked.elapsed()
    );
    soon("it is asked no more", async || {
        coordinator.read(&moved).await == Err(Fault::Paused)
    })
    .await;
}
