//! A small cluster: every question reaches the node of its key, and a node's trouble is that of its slots.

use std::time::Duration;

use coalesce_rig::{Cluster, RedisServer, Topology as _, eventually};
use coalesce_runtime::coordination::{
    AbandonAsk, Coordinator as _, FinishAnswer, Message, Notice, RenewAnswer, RenewAsk, Seen,
    ServerTime, Status,
};
use coalesce_runtime::{Fault, RedisCoordinator, RedisSettings};

use crate::scene::{LEAD, SECOND, begin, envelope, finish, key, lock, soon, token};

/// A busy machine may take five times as long as any other.
pub(crate) const DEADLINE: Duration = Duration::from_millis(5 * 250);

pub(crate) async fn coordinator(cluster: &Cluster) -> RedisCoordinator {
    coordinator_of("", cluster).await
}

/// The same for a user, which is written like `user:password@`.
pub(crate) async fn coordinator_of(user: &str, cluster: &Cluster) -> RedisCoordinator {
    let url = cluster.url().replace("//", &format!("//{user}"));
    let settings = RedisSettings::new(url).deadline(DEADLINE);
    let coordinator = RedisCoordinator::connect(settings).await.unwrap();
    // A start waits for a second, and a busy machine may need longer.
    soon("it is connected", async || coordinator.health().connected).await;
    coordinator
}

/// The locks of so many keys are taken: the questions that renew them.
async fn led(coordinator: &RedisCoordinator, keys: u32) -> Vec<RenewAsk> {
    let mut renewals = Vec::new();
    for number in 0..keys {
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
    renewals
}

#[tokio::test(flavor = "multi_thread")]
async fn every_question_reaches_the_node_of_its_key() {
    let cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
    let renewals = led(&coordinator, 60).await;
    let renewed = coordinator.renew(&renewals).await;
    assert_eq!(renewed, Ok(vec![Ok(RenewAnswer::Held); 60]));
    for number in 0..60 {
        let outcome = finish(envelope(Status::Done, token(1), b"v"));
        let finished = coordinator.finish(&key(number), &outcome).await;
        assert_eq!(finished, Ok(FinishAnswer::Stored));
        assert!(coordinator.read(&key(number)).await.unwrap().is_some());
    }
    for node in cluster.servers() {
        assert!(node.ask(&["DBSIZE"]).parse::<u32>().unwrap() > 5);
        assert_eq!(node.errors("MOVED"), 0);
    }
    assert_eq!(coordinator.health().last_fault, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_heard_whichever_node_they_come_from() {
    let cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
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
    for node in cluster.servers() {
        eventually("no connection is left", || node.clients() == 0);
    }
}

/// A process that leads many keys must not lose all of them with one node.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_node_costs_the_locks_of_the_others_nothing() {
    let cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
    let asks = led(&coordinator, 30).await;
    let here: Vec<_> = (0..30)
        .map(|number| cluster.node(0).ask(&["EXISTS", &lock(number)]) == "1")
        .collect();
    assert!(here.contains(&true) && here.contains(&false));
    cluster.node(0).freeze();
    let answers = coordinator.renew(&asks).await.unwrap();
    for (answer, here) in answers.iter().zip(here) {
        let expected = if here {
            Err(Fault::Timeout)
        } else {
            Ok(RenewAnswer::Held)
        };
        assert_eq!(*answer, expected);
    }
    cluster.node(0).go_on();
}

/// Whether a key is on this node.
fn has(node: &RedisServer, number: u32) -> bool {
    !node.ask(&["EXISTS", &lock(number)]).starts_with("-MOVED")
}

/// The first keys that are on this node.
pub(crate) fn keys_on(node: &RedisServer) -> impl Iterator<Item = u32> {
    (0..).filter(|number| has(node, *number))
}

/// Every other key goes to a node that is as it was, as if nothing had happened.
async fn others_are_served(coordinator: &RedisCoordinator, node: &RedisServer, mark: u8) {
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
    let mut cluster = Cluster::start_without_replicas();
    for node in cluster.servers() {
        node.ask(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
    }
    let coordinator = coordinator(&cluster).await;
    let lost = key(keys_on(cluster.node(2)).next().unwrap());
    cluster.node(2).freeze();
    assert_eq!(coordinator.read(&lost).await, Err(Fault::Timeout));
    for mark in 1..5 {
        others_are_served(&coordinator, cluster.node(0), mark).await;
        others_are_served(&coordinator, cluster.node(1), mark).await;
    }
    soon("it is known to be gone", async || {
        !coordinator.health().connected
    })
    .await;
    soon("nothing is heard there", async || {
        !coordinator.health().subscribed
    })
    .await;
    cluster.node(2).go_on();
    soon("it is back", async || coordinator.read(&lost).await.is_ok()).await;
    cluster.node_mut(2).kill();
    soon("its questions are answered at once", async || {
        coordinator.read(&lost).await == Err(Fault::Paused)
    })
    .await;
    eventually("the others have given it up", || {
        let told = |node: &RedisServer| node.ask(&["CLUSTER", "NODES"]).contains("master,fail ");
        [0, 1].iter().all(|place| told(cluster.node(*place)))
    });
    for mark in 5..9 {
        others_are_served(&coordinator, cluster.node(0), mark).await;
        others_are_served(&coordinator, cluster.node(1), mark).await;
    }
    assert!(!coordinator.health().connected);
}

#[test]
fn a_cluster_is_connected_to_anew_on_the_next_runtime_and_left_in_the_end() {
    let cluster = Cluster::start_without_replicas();
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let coordinator = runtime().block_on(coordinator(&cluster));
    for mark in 1..3 {
        runtime().block_on(async {
            for node in cluster.servers() {
                others_are_served(&coordinator, node, mark).await;
            }
        });
    }
    let last = runtime();
    last.block_on(others_are_served(&coordinator, cluster.node(0), 3));
    drop(coordinator);
    for node in cluster.servers() {
        eventually("no connection is left", || node.clients() == 0);
    }
}

/// A host name may be known to none but the nodes themselves, and not even to them.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_where_the_cluster_says_whatever_names_they_announce() {
    const NAME: &str = "nowhere.invalid";
    let cluster = Cluster::start_without_replicas();
    let announced = [(NAME, "ip"), (NAME, "unknown-endpoint"), ("", "hostname")];
    for (mark, (name, preferred)) in (1..).zip(announced) {
        let nodes = cluster.servers();
        for node in &nodes {
            let announced = ["cluster-announce-hostname", name];
            let preferred = ["cluster-preferred-endpoint-type", preferred];
            let setting = [&["CONFIG", "SET"][..], &announced, &preferred].concat();
            assert_eq!(node.ask(&setting), "OK");
        }
        let named = if name.is_empty() { 0 } else { nodes.len() };
        eventually("every node has heard every name", || {
            let heard = |node: &&RedisServer| {
                let slots = node.ask(&["CLUSTER", "SLOTS"]);
                slots.matches(NAME).count() == named
            };
            nodes.iter().all(heard)
        });
        let coordinator = coordinator(&cluster).await;
        for node in nodes {
            others_are_served(&coordinator, node, mark).await;
        }
        assert_eq!(coordinator.health().last_fault, None);
    }
}
