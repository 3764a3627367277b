//! Leaks: what is still there when it should have gone long ago.

use std::time::{Duration, Instant};

use crate::orders::PodState;
use crate::resp::Value;
use crate::server::RedisServer;
use crate::topology::Topology;

/// What is left of a rig at rest. There must be nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaks {
    /// Local entries of keys that nobody asks for.
    pub entries: u64,
    /// Locks that outlived their lease, and keys that never expire.
    pub keys: u64,
    /// Subscriptions of no use to anybody, after they have lingered.
    pub subscriptions: u64,
    /// Tasks of processes, beyond those that there were before the first call.
    pub tasks: u64,
    /// Connections to servers that hold data, beyond those of each process's three clients.
    pub connections: u64,
}

/// How long what is left over may take to go.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The life of a lock whose owner is gone, and a little.
    pub leases: Duration,
    /// The linger of subscriptions, and a little.
    pub lingers: Duration,
}

impl Leaks {
    /// Waits until nothing is left, or patience is at its end. A process had so many `tasks` before its first call.
    pub fn of(
        servers: &dyn Topology,
        tasks: usize,
        patience: Patience,
        mut states: impl FnMut() -> Vec<PodState>,
    ) -> Self {
        let pods = states().len();
        let mut sum = |of: &dyn Fn(&PodState) -> usize| {
            in_the_end(patience.lingers, || {
                states().iter().map(of).sum::<usize>() as u64
            })
        };
        Self {
            entries: sum(&|state| state.in_flight),
            keys: keys(servers, patience.leases),
            subscriptions: sum(&|state| state.subscriptions),
            tasks: sum(&|state| state.tasks.saturating_sub(tasks)),
            connections: in_the_end(patience.leases, || connections(servers, pods)),
        }
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.entries + self.keys + self.subscriptions + self.tasks + self.connections
    }
}

/// Locks that nobody holds any more, and keys that never expire.
fn keys(servers: &dyn Topology, patience: Duration) -> u64 {
    let locks = in_the_end(patience, || servers.keys("*:lock:*").len() as u64);
    locks + servers.immortal_keys().len() as u64
}

/// Connections beside those that each of a pod's three clients has: one to each primary, and in a cluster one more, to any
/// node, by which it looks at all of them.
fn connections(servers: &dyn Topology, pods: usize) -> u64 {
    let each = match servers.primaries().len() {
        primaries @ 2.. => primaries + 1,
        _ => 1,
    };
    let servers = servers.servers().into_iter();
    let there: usize = servers
        .filter(|server| server.is_running())
        .map(clients)
        .sum();
    there.saturating_sub(3 * pods * each) as u64
}

/// How many connections a server has, beside those of other servers, of sentinels, and the one that asks.
fn clients(server: &RedisServer) -> usize {
    let mut asks = server.connection();
    let mut ask = |words: &[&str]| asks.command(words).expect("a server that answers");
    let own = match ask(&["CLIENT", "ID"]) {
        Value::Number(id) => format!("id={id}"),
        other => panic!("{other:?}"),
    };
    let list = ask(&["CLIENT", "LIST"]).text();
    let is_pod = |line: &&str| {
        let field = |name: &str| {
            let mut words = line.split(' ');
            words.find_map(|word| word.strip_prefix(name))
        };
        let of_server = field("flags=").is_some_and(|flags| flags.contains(['M', 'S']));
        // A node keeps the connection by which it moved keys for ten seconds.
        let of_a_move = field("cmd=").is_some_and(|command| command.starts_with("restore"));
        let of_sentinel = field("name=").is_some_and(|name| name.starts_with("sentinel-"));
        !of_server && !of_a_move && !of_sentinel && line.split(' ').next() != Some(&own)
    };
    list.lines().filter(is_pod).count()
}

/// How many there are when they have had the time to go.
fn in_the_end(patience: Duration, mut count: impl FnMut() -> u64) -> u64 {
    let end = Instant::now() + patience;
    loop {
        let left = count();
        if left == 0 || Instant::now() > end {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::topology::{Cluster, Sentinels};

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn a_lock_that_stays_is_found_and_so_is_a_key_that_never_expires() {
        let server = RedisServer::start();
        server.command(&["SET", "coalesce:state:{a}", "outcome", "PX", "60000"]);
        server.command(&["HSET", "coalesce:switch", "*", "off"]);
        assert_eq!(keys(&server, MOMENT), 0);
        server.command(&["SET", "coalesce:lock:{a}", "token", "PX", "60000"]);
        assert_eq!(keys(&server, MOMENT), 1);
        server.command(&["SET", "coalesce:state:{b}", "outcome"]);
        assert_eq!(keys(&server, MOMENT), 2);
    }

    #[test]
    fn a_lock_that_ends_in_time_is_none() {
        let server = RedisServer::start();
        server.command(&["SET", "coalesce:lock:{a}", "token", "PX", "100"]);
        assert_eq!(keys(&server, Duration::from_secs(5)), 0);
    }

    #[test]
    fn a_fourth_connection_of_a_pod_is_found() {
        let server = RedisServer::start();
        let mut open: Vec<_> = (0..6).map(|_| server.connection()).collect();
        for connection in &mut open {
            connection.command(&["PING"]).unwrap();
        }
        assert_eq!(connections(&server, 2), 0);
        assert_eq!(connections(&server, 1), 3);
    }

    #[test]
    fn tasks_and_subscriptions_that_stay_are_found() {
        let state = |in_flight: usize, tasks: usize, subscriptions: usize| -> PodState {
            let state = json!({
                "in_flight": in_flight, "subscriptions": subscriptions, "takeovers": 0, "books": {}, "switched_off": false,
                "executions": 0, "saved": 0, "bypassed": 0, "faults": 0, "undecodable": 0, "tasks": tasks,
                "begun": 0, "answered": 0, "misrouted": 0, "breaker": "closed",
                "last_fault": "", "subscribed": true,
            });
            serde_json::from_value(state).unwrap()
        };
        let server = RedisServer::start();
        let patience = Patience {
            leases: MOMENT,
            lingers: MOMENT,
        };
        let left = |in_flight, tasks, subscriptions| {
            let states = || vec![state(0, 7, 0), state(in_flight, tasks, subscriptions)];
            Leaks::of(&server, 8, patience, states)
        };
        assert_eq!(left(0, 8, 0), Leaks::default());
        let expected = Leaks {
            entries: 1,
            tasks: 2,
            subscriptions: 3,
            ..Leaks::default()
        };
        let found = left(1, 10, 3);
        assert_eq!((found, found.total()), (expected, 6));
    }

    #[test]
    fn what_goes_in_time_is_not_counted_and_what_stays_is() {
        let mut left = 3;
        let goes = in_the_end(Duration::from_secs(5), || {
            left -= 1;
            left
        });
        assert_eq!((goes, in_the_end(MOMENT, || 2)), (0, 2));
    }

    #[test]
    fn connections_among_servers_and_sentinels_are_nobodys_leak() {
        let cluster = Cluster::start();
        assert_eq!(connections(&cluster, 0), 0);
        let held = cluster.node(1).connection();
        assert_eq!(connections(&cluster, 0), 1);
        drop(held);
        let sentinels = Sentinels::start_with(&[]);
        assert_eq!(connections(&sentinels, 0), 0);
        let _held: Vec<_> = (0..4).map(|_| sentinels.server(2).connection()).collect();
        assert_eq!(connections(&sentinels, 1), 1);
    }
}
