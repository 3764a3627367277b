//! A small cluster: every question reaches the node of its key, and a node's trouble is that of its slots.

use std::time::Duration;

use coalesce_runtime::coordination::{
    AbandonAsk, Coordinator as _, FinishAnswer, Message, Notice, RenewAnswer, RenewAsk, Seen,
    ServerTime, Status,
};
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::server::{
    LEAD, SECOND, Server, begin, envelope, eventually, finish, key, lock, soon, token,
};

const SLOTS: u32 = 16_384;

/// A busy machine may take five times as long as any other.
pub(crate) const DEADLINE: Duration = Duration::from_millis(5 * 250);

/// Three nodes with a third of the slots each.
pub(crate) fn cluster() -> Vec<Server> {
    let nodes: Vec<_> = (0..3).map(|_| Server::start_node()).collect();
    for (number, node) in (0..).zip(&nodes) {
        let (from, to) = (SLOTS * number / 3, SLOTS * (number + 1) / 3 - 1);
        let range = [
            "CLUSTER",
            "ADDSLOTSRANGE",
            &from.to_string(),
            &to.to_string(),
        ];
        assert_eq!(node.ask(&range), "OK");
        for other in &nodes {
            meet(node, other);
        }
    }
    is_complete(&nodes);
    nodes
}

pub(crate) fn meet(node: &Server, other: &Server) {
    let (port, bus) = (other.port.to_string(), other.bus().to_string());
    node.ask(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
}

pub(crate) fn is_complete(nodes: &[Server]) {
    let known = format!("cluster_known_nodes:{}", nodes.len());
    for node in nodes {
        eventually("every node knows that the cluster is complete", || {
            let info = node.ask(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains(&known)
        });
    }
}

pub(crate) async fn coordinator(nodes: &[Server]) -> RedisCoordinator {
    coordinator_of("", nodes).await
}

/// The same for a user, which is written like `user:password@`.
pub(crate) async fn coordinator_of(user: &str, nodes: &[Server]) -> RedisCoordinator {
    let [seed, other, ..] = nodes else {
        panic!("a cluster has nodes")
    };
    let url = format!(
        "redis-cluster://{user}127.0.0.1:{}?node=127.0.0.1:{}",
        seed.port, other.port
    );
    let settings = RedisSettings::new(url).deadline(DEADLINE);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    assert!(coordinator.health().connected, "{:?}", coordinator.health());
    coordinator
}

#[tokio::test(flavor = "multi_thread")]
async fn every_question_reaches_the_node_of_its_key() {
    let nodes = cluster();
    let coordinator = coordinator(&nodes).await;
    let mut renewals = Vec::new();
    for number in 0..60 {
        let (key, token) = (key(number), token(1));
        assert_eq!(coordinator.begin(&key, &begin(token)).await, Ok(LEAD));
        renewals.push(RenewAsk {
            key,
            token,
            seen: Seen::NOTHING,
            lease: 30 * SECOND,
            retake_until: ServerTime::default(),
        });
    }
    let renewed = coordinator.renew(&renewals).await;
    assert_eq!(renewed, Ok(vec![Ok(RenewAnswer::Held); 60]));
    for number in 0..60 {
        let outcome = finish(envelope(Status::Done, token(1), b"v"));
        let finished = coordinator.finish(&key(number), &outcome).await;
        assert_eq!(finished, Ok(FinishAnswer::Stored));
        assert!(coordinator.read(&key(number)).await.unwrap().is_some());
    }
    for node in &nodes {
        assert!(node.ask(&["DBSIZE"]).parse::<u32>().unwrap() > 5);
        assert_eq!(node.info("errorstats", "errorstat_MOVED:count"), 0);
    }
    assert_eq!(coordinator.health().last_fault, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_heard_whichever_node_they_come_from() {
    let nodes = cluster();
    let coordinator = coordinator(&nodes).await;
    for number in 0..20 {
        let (key, token) = (key(number), token(1));
        let mut listener = coordinator.listen(&key).await.unwrap();
        coordinator.begin(&key, &begin(token)).await.unwrap();
        coordinator
            .abandon(&key, AbandonAsk::body_failed(token))
            .await
            .unwrap();
        let heard = tokio::time::timeout(5 * SECOND, listener.next())
            .await
            .unwrap();
        assert_eq!(
            heard,
            Notice::Message(Message::Abandoned {
                token,
                body_failed: true
            })
        );
    }
    coordinator.close().await.unwrap();
    for node in &nodes {
        eventually("no connection is left", || {
            let clients = node.ask(&["CLIENT", "LIST", "TYPE", "normal"]);
            clients.lines().count() == 1
        });
    }
}

/// A process that leads many keys must not lose all of them with one node.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_node_costs_the_locks_of_the_others_nothing() {
    let nodes = cluster();
    let coordinator = coordinator(&nodes).await;
    let mut asks = Vec::new();
    for number in 0..30 {
        let (key, token) = (key(number), token(1));
        assert_eq!(coordinator.begin(&key, &begin(token)).await, Ok(LEAD));
        asks.push(RenewAsk {
            key,
            token,
            seen: Seen::NOTHING,
            lease: 30 * SECOND,
            retake_until: ServerTime::default(),
        });
    }
    let here: Vec<_> = (0..30)
        .map(|number| nodes[0].ask(&["EXISTS", &lock(number)]) == "1")
        .collect();
    assert!(here.contains(&true) && here.contains(&false));
    nodes[0].freeze();
    let answers = coordinator.renew(&asks).await.unwrap();
    for (answer, here) in answers.iter().zip(here) {
        let expected = if here {
            Err(Fault::Timeout)
        } else {
            Ok(RenewAnswer::Held)
        };
        assert_eq!(*answer, expected);
    }
    nodes[0].thaw();
}

/// Whether a key is on this node.
fn has(node: &Server, number: u32) -> bool {
    !node.ask(&["EXISTS", &lock(number)]).starts_with("-MOVED")
}

/// The first keys that are on this node.
pub(crate) fn keys_on(node: &Server) -> impl Iterator<Item = u32> {
    (0..).filter(|number| has(node, *number))
}

/// Every other key goes to a node that is as it was, as if nothing had happened.
async fn others_are_served(coordinator: &RedisCoordinator, node: &Server, mark: u8) {
    for number in keys_on(node).take(20) {
        let token = token(mark);
        let led = coordinator.begin(&key(number), &begin(token)).await;
        assert_eq!(led, Ok(LEAD), "{number}");
        assert_eq!(
            coordinator
                .abandon(&key(number), AbandonAsk::body_failed(token))
                .await,
            Ok(true)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_hangs_or_dies_costs_the_slots_of_the_others_nothing() {
    let mut nodes = cluster();
    for node in &nodes {
        node.ask(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let coordinator = coordinator(&nodes).await;
    let lost = key(keys_on(&nodes[2]).next().unwrap());
    nodes[2].freeze();
    assert_eq!(coordinator.read(&lost).await, Err(Fault::Timeout));
    for mark in 1..5 {
        others_are_served(&coordinator, &nodes[0], mark).await;
        others_are_served(&coordinator, &nodes[1], mark).await;
    }
    soon("it is known to be gone", async || {
        !coordinator.health().connected && !coordinator.health().subscribed
    })
    .await;
    nodes[2].thaw();
    soon("it is back", async || coordinator.read(&lost).await.is_ok()).await;
    drop(nodes.pop());
    soon("its questions are answered at once", async || {
        coordinator.read(&lost).await == Err(Fault::Paused)
    })
    .await;
    eventually("the others have given it up", || {
        let told = |node: &Server| node.ask(&["CLUSTER", "NODES"]).contains("master,fail ");
        nodes.iter().all(told)
    });
    for mark in 5..9 {
        others_are_served(&coordinator, &nodes[0], mark).await;
        others_are_served(&coordinator, &nodes[1], mark).await;
    }
    assert!(!coordinator.health().connected);
}

#[test]
fn a_cluster_is_connected_to_anew_on_the_next_runtime_and_left_in_the_end() {
    let nodes = cluster();
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let coordinator = runtime().block_on(coordinator(&nodes));
    for mark in 1..3 {
        runtime().block_on(async {
            for node in &nodes {
                others_are_served(&coordinator, node, mark).await;
            }
        });
    }
    let last = runtime();
    last.block_on(others_are_served(&coordinator, &nodes[0], 3));
    drop(coordinator);
    for node in &nodes {
        eventually("no connection is left", || {
            node.ask(&["CLIENT", "LIST"]).lines().count() == 1
        });
    }
}
