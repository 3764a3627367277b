//! A cluster of three primaries, as a rule with a replica each, and what can be done to it.

use std::time::Duration;

use super::{Topology, eventually, follows, is_primary, within};
use crate::resp::Value;
use crate::server::RedisServer;

const SLOTS: usize = 16_384;
const PRIMARIES: usize = 3;

/// Its nodes, primaries first. Those that have been killed keep their place.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<RedisServer>,
}

impl Topology for Cluster {
    /// Every node is a seed: any of them may be gone when a pod starts.
    fn url(&self) -> String {
        let seeds = self.nodes.iter().map(RedisServer::port);
        let seeds: Vec<_> = seeds.map(|port| format!("127.0.0.1:{port}")).collect();
        format!(
            "redis-cluster://{}?node={}",
            seeds[0],
            seeds[1..].join("&node=")
        )
    }

    fn servers(&self) -> Vec<&RedisServer> {
        self.nodes.iter().collect()
    }
}

impl Cluster {
    /// Starts one of six nodes and waits until it is complete.
    pub fn start() -> Self {
        Self::of(2 * PRIMARIES)
    }

    /// The same of primaries alone.
    pub fn start_without_replicas() -> Self {
        Self::of(PRIMARIES)
    }

    fn of(nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| RedisServer::start_node());
        let cluster = Self {
            nodes: nodes.collect(),
        };
        cluster.give_slots();
        cluster.introduce();
        cluster.give_replicas();
        cluster.is_complete();
        cluster
    }

    fn give_slots(&self) {
        for (place, node) in self.nodes[..PRIMARIES].iter().enumerate() {
            let (from, to) = (
                SLOTS * place / PRIMARIES,
                SLOTS * (place + 1) / PRIMARIES - 1,
            );
            let range = [from.to_string(), to.to_string()];
            ok(node, &["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]);
        }
        for (place, node) in self.nodes.iter().enumerate() {
            // Nobody has to find out later whose view is the newer one.
            let epoch = (place + 1).to_string();
            ok(node, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
        }
    }

    /// Everybody meets everybody: gossip alone takes a second longer.
    fn introduce(&self) {
        for node in &self.nodes {
            for other in &self.nodes {
                let port = other.port().to_string();
                let bus = other.command(&["CONFIG", "GET", "cluster-port"]).list();
                ok(
                    node,
                    &["CLUSTER", "MEET", "127.0.0.1", &port, &bus[1].text()],
                );
            }
        }
        for node in &self.nodes {
            eventually("every node knows every other", || {
                let view = node.command(&["CLUSTER", "NODES"]).text();
                view.lines().count() == self.nodes.len() && !view.contains("handshake")
            });
        }
    }

    /// Takes in a node more, which serves no slot: its place.
    pub fn grow(&mut self) -> usize {
        self.nodes.push(RedisServer::start_node());
        self.introduce();
        self.is_complete();
        self.nodes.len() - 1
    }

    fn give_replicas(&self) {
        for (place, node) in self.nodes[PRIMARIES..].iter().enumerate() {
            ok(node, &["CLUSTER", "REPLICATE", &id(&self.nodes[place])]);
        }
    }

    /// Waits until every node that is running knows that all slots are served, and every replica follows.
    pub fn is_complete(&self) {
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            eventually("every slot is served and every replica follows", || {
                let state = node.command(&["CLUSTER", "INFO"]).text();
                state.contains("cluster_state:ok") && (is_primary(node) || follows(node))
            });
        }
    }

    /// The place of the primary that this key is on.
    pub fn primary_of(&self, key: &str) -> usize {
        // The others answer with where it is.
        let holds = |node: &RedisServer| matches!(node.command(&["EXISTS", key]), Value::Number(_));
        let place = (self.nodes.iter())
            .position(|node| node.is_running() && is_primary(node) && holds(node));
        place.expect("a primary of that key")
    }

    /// The place of a running replica of this primary.
    pub fn replica_of(&self, primary: usize) -> usize {
        let replicas = self.replicas_of(primary);
        *replicas.first().expect("a replica of that primary")
    }

    fn replicas_of(&self, primary: usize) -> Vec<usize> {
        let primary = id(&self.nodes[primary]);
        let follows = |place: &usize| {
            let node = &self.nodes[*place];
            node.is_running() && myself(node)[2..4] == ["myself,slave", &*primary]
        };
        (0..self.nodes.len()).filter(follows).collect()
    }

    /// Whether the node in this place is running and a primary.
    pub fn leads(&self, place: usize) -> bool {
        self.nodes[place].is_running() && is_primary(&self.nodes[place])
    }

    /// The node in this place.
    pub fn node(&self, place: usize) -> &RedisServer {
        &self.nodes[place]
    }

    /// The same, to kill or to restart it.
    pub fn node_mut(&mut self, place: usize) -> &mut RedisServer {
        &mut self.nodes[place]
    }

    /// The replica in this place takes over in an orderly way.
    pub fn fail_over(&self, replica: usize) {
        let new = &self.nodes[replica];
        let primary = myself(new).swap_remove(3);
        let old = self.nodes.iter().find(|node| id(node) == primary);
        let old = old.expect("its primary");
        eventually("the replica takes over", || {
            // Refused while it does not follow; forgotten when the two do not agree in time.
            new.command(&["CLUSTER", "FAILOVER"]);
            within(Duration::from_secs(2), || {
                is_primary(new) && !is_primary(old)
            })
        });
        // Its clients stay paused for seconds more, as is seen when it soon leads again.
        old.command(&["CLIENT", "UNPAUSE"]);
    }

    /// Moves the slot of a key, with all that is in it, to the primary in another place; the key is named
    /// by any name in that slot.
    pub fn move_slot(&self, key: &str, to: usize) {
        let from = self.begin_to_move(key, to);
        self.end_the_move(key, from, to);
    }

    /// The slot of a key is served where its keys have been moved to.
    pub fn end_the_move(&self, key: &str, from: usize, to: usize) {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        let slot = slot_of(from, key);
        for node in [to, from] {
            ok(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &id(to)]);
        }
    }

    /// The same without an end: all that is there has been moved, and the slot has not. The place that it is
    /// moved from.
    pub fn begin_to_move(&self, key: &str, to: usize) -> usize {
        let place = self.primary_of(key);
        let (from, to) = (&self.nodes[place], &self.nodes[to]);
        let slot = slot_of(from, key);
        ok(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        ok(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
        loop {
            let keys = from
                .command(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"])
                .list();
            if keys.is_empty() {
                break;
            }
            for key in keys {
                let (port, key) = (to.port().to_string(), key.text());
                // "NOKEY" when it has expired meanwhile.
                from.command(&["MIGRATE", "127.0.0.1", &port, &key, "0", "1000"]);
            }
        }
        place
    }
}

fn slot_of(node: &RedisServer, key: &str) -> String {
    let slot = node.command(&["CLUSTER", "KEYSLOT", key]);
    slot.number().to_string()
}

fn ok(node: &RedisServer, words: &[&str]) {
    assert_eq!(
        node.command(words),
        Value::Text(b"OK".to_vec()),
        "{words:?}"
    );
}

fn id(node: &RedisServer) -> String {
    node.command(&["CLUSTER", "MYID"]).text()
}

/// What a node says of itself: its id, address, flags, primary, and more.
fn myself(node: &RedisServer) -> Vec<String> {
    let view = node.command(&["CLUSTER", "NODES"]).text();
    let line = view.lines().find(|line| line.contains("myself"));
    let words = line.expect("itself").split(' ');
    words.map(str::to_owned).collect()
}
