//! Primaries that hand over, or come back elsewhere: who listens goes along, and nothing is left where they were.

use coalesce_rig::{Cluster, Topology as _, eventually};
use coalesce_runtime::RedisCoordinator;
use coalesce_runtime::coordination::{AbandonAsk, Coordinator as _, Listener, Message, Notice};
use tokio::time::timeout;

use crate::cluster::{coordinator, keys_on};
use crate::scene::{LEAD, SECOND, begin, key, soon, token};

/// Behind a gap a listener hears of a flight of its key.
async fn is_shared_again(
    coordinator: &RedisCoordinator,
    number: u32,
    mark: u8,
    listener: &mut Listener,
) {
    let (key, token) = (key(number), token(mark));
    soon("it has a leader", async || {
        coordinator.begin(&key, &begin(token)).await == Ok(LEAD)
    })
    .await;
    let mut next = async || timeout(5 * SECOND, listener.next()).await;
    assert_eq!(next().await, Ok(Notice::Gap));
    let abandoned = AbandonAsk::body_failed(token);
    assert_eq!(coordinator.abandon(&key, abandoned).await, Ok(true));
    let told = Message::Abandoned {
        token,
        body_failed: true,
    };
    // A channel that moves to a connection that is being made is told of both.
    let mut heard = next().await;
    while heard == Ok(Notice::Gap) {
        heard = next().await;
    }
    assert_eq!(heard, Ok(Notice::Message(told)));
}

/// At each of these nodes there are the three lines of a process, and none at any other.
fn are_connected(cluster: &Cluster, primaries: &[usize]) {
    for (place, node) in cluster.servers().into_iter().enumerate() {
        let lines = if primaries.contains(&place) { 3 } else { 0 };
        eventually("there are as many connections as are needed", || {
            node.clients() == lines
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_goes_along_when_a_primary_hands_over_and_back() {
    let cluster = Cluster::start();
    let coordinator = coordinator(&cluster).await;
    let number = keys_on(cluster.node(0)).next().unwrap();
    let mut listener = coordinator.listen(&key(number)).await.unwrap();
    let replica = cluster.replica_of(0);
    for (mark, new) in [(1, replica), (2, 0), (3, replica)] {
        cluster.fail_over(new);
        is_shared_again(&coordinator, number, mark, &mut listener).await;
        are_connected(&cluster, &[new, 1, 2]);
    }
    assert_eq!(coordinator.subscriptions(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_comes_back_at_another_address_is_found_there() {
    let mut cluster = Cluster::start_without_replicas();
    let coordinator = coordinator(&cluster).await;
    let number = keys_on(cluster.node(1)).next().unwrap();
    let mut listener = coordinator.listen(&key(number)).await.unwrap();
    cluster.node_mut(1).kill();
    cluster.node_mut(1).restart_elsewhere();
    cluster.is_complete();
    is_shared_again(&coordinator, number, 1, &mut listener).await;
    are_connected(&cluster, &[0, 1, 2]);
    soon("nothing is missed", async || coordinator.health().connected).await;
}
