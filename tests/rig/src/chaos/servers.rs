//! The servers of a chaos: one of the topologies, and a proxy where there can be one.

use serde::Serialize;

use crate::proxy::Proxy;
use crate::server::RedisServer;
use crate::topology::{Cluster, Sentinels, Topology};

/// Which servers coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One server.
    Standalone,
    /// Three primaries with a replica each.
    Cluster,
    /// A primary with two replicas, watched by three sentinels.
    Sentinel,
}

#[derive(Debug)]
pub(super) enum Servers {
    /// Nodes of the others say themselves where they are, so only here half of the pods go by a proxy.
    Standalone(RedisServer, Proxy),
    Cluster(Cluster),
    Sentinel(Sentinels),
}

impl Servers {
    pub(super) fn start(layout: Layout) -> Self {
        match layout {
            Layout::Standalone => {
                let server = RedisServer::start();
                let proxy = Proxy::before(server.port());
                Self::Standalone(server, proxy)
            }
            Layout::Cluster => Self::Cluster(Cluster::start()),
            Layout::Sentinel => Self::Sentinel(Sentinels::start_with(&[])),
        }
    }

    /// The URL of a pod.
    pub(super) fn url_of(&self, number: usize) -> String {
        match self {
            Self::Standalone(_, proxy) if number % 2 == 1 => proxy.url(),
            _ => self.topology().url(),
        }
    }

    pub(super) fn topology(&self) -> &dyn Topology {
        match self {
            Self::Standalone(server, _) => server,
            Self::Cluster(cluster) => cluster,
            Self::Sentinel(sentinels) => sentinels,
        }
    }

    pub(super) fn proxy(&self) -> Option<&Proxy> {
        match self {
            Self::Standalone(_, proxy) => Some(proxy),
            _ => None,
        }
    }

    /// Waits until every server has found its place, so that the next fault finds something to hurt.
    pub(super) fn is_complete(&self) {
        match self {
            Self::Standalone(..) => {}
            Self::Cluster(cluster) => cluster.is_complete(),
            Self::Sentinel(sentinels) => sentinels.is_complete(),
        }
    }

    /// Asks every primary.
    pub(super) fn tell(&self, words: &[&str]) {
        for server in self.topology().primaries() {
            server.command(words);
        }
    }

    /// The places of the primaries.
    pub(super) fn primaries(&self) -> Vec<usize> {
        match self {
            Self::Standalone(..) => vec![0],
            Self::Cluster(cluster) => (0..6).filter(|&place| cluster.leads(place)).collect(),
            Self::Sentinel(sentinels) => sentinels.primary().into_iter().collect(),
        }
    }

    pub(super) fn fail_over(&self, primary: usize) {
        match self {
            Self::Standalone(..) => {}
            Self::Cluster(cluster) => cluster.fail_over(cluster.replica_of(primary)),
            Self::Sentinel(sentinels) => sentinels.fail_over_for_all(),
        }
    }

    /// Moves the slot of this key to the primary in another place, unless it is there: whether it did.
    pub(super) fn move_slot(&self, name: &str, to: usize) -> bool {
        let Self::Cluster(cluster) = self else {
            return false;
        };
        let moves = cluster.primary_of(name) != to;
        if moves {
            cluster.move_slot(name, to);
        }
        moves
    }

    pub(super) fn kill(&mut self, place: usize) {
        match self {
            Self::Standalone(server, _) => server.kill(),
            Self::Cluster(cluster) => cluster.node_mut(place).kill(),
            Self::Sentinel(sentinels) => sentinels.kill(place),
        }
    }

    pub(super) fn restart(&mut self, place: usize) {
        match self {
            Self::Standalone(server, _) => server.restart(),
            Self::Cluster(cluster) => cluster.node_mut(place).restart(),
            Self::Sentinel(sentinels) => sentinels.restart(place),
        }
    }

    pub(super) fn server(&self, place: usize) -> &RedisServer {
        self.topology().servers()[place]
    }

    pub(super) fn sentinel(&mut self, place: usize) -> Option<&mut RedisServer> {
        match self {
            Self::Sentinel(sentinels) => Some(sentinels.sentinel_mut(place)),
            _ => None,
        }
    }
}
