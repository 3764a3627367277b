//! A primary with two replicas, and three sentinels that watch them.

use super::{Topology, eventually, follows, is_primary};
use crate::resp::Value;
use crate::server::RedisServer;

const SERVICE: &str = "m1";

/// Servers and sentinels. Those that have been killed keep their place.
#[derive(Debug)]
pub struct Sentinels {
    servers: Vec<RedisServer>,
    sentinels: Vec<RedisServer>,
}

impl Topology for Sentinels {
    fn url(&self) -> String {
        let seeds = self.sentinels.iter().map(RedisServer::port);
        let seeds: Vec<_> = seeds.map(|port| format!("127.0.0.1:{port}")).collect();
        let (first, others) = (&seeds[0], seeds[1..].join("&node="));
        format!("redis-sentinel://{first}?node={others}&sentinelServiceName={SERVICE}")
    }

    fn servers(&self) -> Vec<&RedisServer> {
        self.servers.iter().collect()
    }

    /// Where sentinels send those who ask: a deposed primary still takes itself for one.
    fn primaries(&self) -> Vec<&RedisServer> {
        let primary = self.primary().map(|place| &self.servers[place]);
        primary
            .filter(|server| server.is_running())
            .into_iter()
            .collect()
    }
}

impl Sentinels {
    /// Starts everybody and waits until a fail-over is possible. `options` are for the servers.
    pub fn start_with(options: &[&str]) -> Self {
        let sync = ["--repl-diskless-sync-delay", "0"];
        let primary = RedisServer::start_with(&[&sync, options].concat());
        let of = format!("127.0.0.1 {}", primary.port());
        let replica = [&sync, &["--replicaof", &of][..], options].concat();
        let mut servers = vec![primary];
        servers.extend((0..2).map(|_| RedisServer::start_with(&replica)));
        for server in &servers[1..] {
            eventually("the replica follows", || follows(server));
        }
        let lines = [
            format!("sentinel monitor {SERVICE} {of} 2"),
            format!("sentinel down-after-milliseconds {SERVICE} 1000"),
            format!("sentinel failover-timeout {SERVICE} 3000"),
            String::new(),
        ];
        let configuration = lines.join("\n");
        // They look around every ten seconds otherwise, and a deposed primary is told after eight.
        let hurry = ["INFO-PERIOD", "500", "PUBLISH-PERIOD", "500"];
        let hurry = [&["SENTINEL", "DEBUG"], &hurry[..]].concat();
        let sentinels = (0..3).map(|_| {
            let sentinel = RedisServer::start_sentinel(&configuration);
            sentinel.command(&hurry);
            sentinel
        });
        let all = Self {
            sentinels: sentinels.collect(),
            servers,
        };
        all.is_complete();
        all
    }

    /// Waits until every running sentinel knows a majority, both replicas, and that they can take over.
    pub fn is_complete(&self) {
        for sentinel in self.sentinels.iter().filter(|it| it.is_running()) {
            eventually("a fail-over is possible", || {
                let quorum = sentinel.command(&["SENTINEL", "CKQUORUM", SERVICE]);
                let quorum = matches!(&quorum, Value::Text(text) if text.starts_with(b"OK 3"));
                quorum && replicas_that_follow(sentinel) == self.servers.len() - 1
            });
        }
    }

    /// The place of the primary that the sentinels name, unless they are all gone.
    pub fn primary(&self) -> Option<usize> {
        let sentinel = self.sentinels.iter().find(|it| it.is_running())?;
        let ask = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE];
        let address = sentinel.command(&ask).list();
        let port = address.get(1)?.text();
        self.servers
            .iter()
            .position(|server| server.port().to_string() == port)
    }

    /// The server in this place.
    pub fn server(&self, place: usize) -> &RedisServer {
        &self.servers[place]
    }

    /// Kills the server in this place.
    pub fn kill(&mut self, place: usize) {
        self.servers[place].kill();
    }

    /// Starts it again, as what it was: sentinels write that down in its configuration.
    pub fn restart(&mut self, place: usize) {
        self.servers[place].restart();
        if self.primary() == Some(place) {
            self.servers[place].command(&["REPLICAOF", "NO", "ONE"]);
        }
    }

    /// The sentinel in this place.
    pub fn sentinel_mut(&mut self, place: usize) -> &mut RedisServer {
        &mut self.sentinels[place]
    }

    /// Orders a fail-over and waits for the new primary: its place.
    pub fn fail_over(&self) -> usize {
        let before = self.primary().expect("a primary");
        let sentinel = self.sentinels.iter().find(|it| it.is_running());
        let sentinel = sentinel.expect("a sentinel");
        eventually("the order is taken", || {
            // It is refused while another is going on, or the last was only just.
            sentinel.command(&["SENTINEL", "FAILOVER", SERVICE]) == Value::Text(b"OK".to_vec())
        });
        self.moved_from(before)
    }

    /// The same, until the old primary follows the new one: for two seconds more it takes writes of those who do not know.
    pub(crate) fn fail_over_for_all(&self) {
        let before = self.primary().expect("a primary");
        self.fail_over();
        eventually("the old primary follows", || {
            !is_primary(&self.servers[before])
        });
    }

    /// Waits until all running sentinels name another primary than this one, which takes itself for it.
    pub fn moved_from(&self, before: usize) -> usize {
        eventually("the sentinels name another primary", || {
            self.primary().is_some_and(|place| place != before)
        });
        let place = self.primary().expect("a primary");
        eventually("it knows", || is_primary(&self.servers[place]));
        place
    }
}

/// How many replicas a sentinel takes for sound.
fn replicas_that_follow(sentinel: &RedisServer) -> usize {
    let replicas = sentinel.command(&["SENTINEL", "REPLICAS", SERVICE]);
    let Value::List(replicas) = replicas else {
        return 0;
    };
    let sound = |replica: Value| {
        let fields: Vec<_> = replica.list().iter().map(Value::text).collect();
        let holds = |name: &str, value: &str| fields.windows(2).any(|pair| pair == [name, value]);
        holds("master-link-status", "ok") && holds("flags", "slave")
    };
    replicas
        .into_iter()
        .filter(|replica| sound(replica.clone()))
        .count()
}
