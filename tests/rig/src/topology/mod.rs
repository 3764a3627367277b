//! Topologies: one server, a cluster, or servers that sentinels watch; what they have in common.

mod cluster;
mod sentinel;

use std::time::{Duration, Instant};

use crate::resp::Value;
use crate::server::RedisServer;

pub use cluster::Cluster;
pub use sentinel::Sentinels;

/// Servers that pods reach by one URL.
pub trait Topology {
    /// The URL for pods.
    fn url(&self) -> String;

    /// All servers that hold data, running or not.
    fn servers(&self) -> Vec<&RedisServer>;

    /// The servers that are running and hold data that is not another's copy.
    fn primaries(&self) -> Vec<&RedisServer> {
        let servers = self.servers().into_iter();
        servers
            .filter(|server| server.is_running() && is_primary(server))
            .collect()
    }

    /// The names of keys that fit, on all primaries.
    fn keys(&self, pattern: &str) -> Vec<String> {
        let found = |server: &&RedisServer| server.command(&["KEYS", pattern]).list();
        let lists = self.primaries();
        lists.iter().flat_map(found).map(|key| key.text()).collect()
    }

    /// Every key that never expires. There must be none but the kill switch, which is left out.
    fn immortal_keys(&self) -> Vec<String> {
        let primaries = self.primaries();
        let keys = primaries.iter().flat_map(|server| server.immortal_keys());
        keys.collect()
    }
}

impl Topology for RedisServer {
    fn url(&self) -> String {
        Self::url(self)
    }

    fn servers(&self) -> Vec<&RedisServer> {
        vec![self]
    }
}

/// What a server takes itself for.
fn is_primary(server: &RedisServer) -> bool {
    // Who changes its role closes its connections, this one too.
    let mut answers = (0..5).map(|_| server.connection().command(&["ROLE"]));
    let role = answers.find_map(Result::ok).expect("a role").list();
    role.first() == Some(&Value::Text(b"master".to_vec()))
}

/// Whether a replica has its primary's data and hears of every change.
fn follows(server: &RedisServer) -> bool {
    server.info("replication", "master_link_status").as_deref() == Some("up")
}

/// Waits until something holds. There is a limit, and reaching it is a failure.
pub fn eventually(what: &str, holds: impl FnMut() -> bool) {
    assert!(within(Duration::from_secs(20), holds), "in vain: {what}");
}

/// Waits until something holds, or for so long.
fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !holds() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_complete_within_seconds_and_fails_over_when_told_to() {
        let began = Instant::now();
        let cluster = Cluster::start();
        let took = began.elapsed();
        assert!(took < 5 * Duration::from_secs(3), "{took:?}");
        let before = cluster.primary_of("a");
        let replica = cluster.replica_of(before);
        cluster.fail_over(replica);
        assert!(cluster.leads(replica));
        eventually("the old primary follows", || !cluster.leads(before));
        println!("complete in {took:?}");
    }

    #[test]
    fn sentinels_are_ready_within_seconds_and_move_the_primary_when_told_to() {
        let began = Instant::now();
        let sentinels = Sentinels::start_with(&[]);
        let took = began.elapsed();
        assert!(took < 5 * Duration::from_secs(3), "{took:?}");
        assert_eq!(sentinels.primary(), Some(0));
        assert!((1..3).contains(&sentinels.fail_over()));
        println!("ready in {took:?}");
    }
}
