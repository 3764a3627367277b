//! The Redis coordinator, on a private server or a cluster that the cases share, in real time.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use coalesce_rig::{Cluster, Connection, RedisServer, Topology, Value};
use coalesce_runtime::coordination::Reply;
use coalesce_runtime::{Key, RedisCoordinator, RedisSettings};

use crate::world::{Plant, Subject, World};

/// One server.
mod standalone {
    use super::*;

    struct Redis;

    impl Subject for Redis {
        fn run(case: impl AsyncFnOnce(&World)) {
            static SERVER: Slot = Slot::new(Weak::new());
            play(&Shared::of(&SERVER, RedisServer::start), case);
        }
    }

    crate::cases::run_all_on!(Redis);
}

/// Three primaries with a replica each. What one question touches is in one slot, and a batch of renewals in many.
mod clustered {
    use super::*;

    struct RedisCluster;

    impl Subject for RedisCluster {
        fn run(case: impl AsyncFnOnce(&World)) {
            static CLUSTER: Slot = Slot::new(Weak::new());
            play(&Shared::of(&CLUSTER, Cluster::start), case);
        }
    }

    crate::cases::run_all_on!(RedisCluster);
}

fn play(servers: &Shared, case: impl AsyncFnOnce(&World)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let connect = async || {
            let settings = RedisSettings::new(servers.url.clone())
                .linger(Duration::from_millis(300))
                // A busy machine is no fault.
                .deadline(Duration::from_secs(5));
            Arc::new(RedisCoordinator::connect(settings).await.unwrap())
        };
        let (here, there) = (connect().await, connect().await);
        let planter = Box::new(Planter(servers.ports.clone()));
        // Redis counts milliseconds, and a sleep may end a little early on another clock.
        let grain = Duration::from_millis(15);
        case(&World::new(here, there, planter, grain)).await;
    });
}

/// Where the servers of a run are known, as long as there are any.
type Slot = Mutex<Weak<Shared>>;

/// The servers of a run. They are there as long as any case needs them, and end with the last one, however that ends.
struct Shared {
    url: String,
    ports: Vec<u16>,
    _needed: mpsc::Sender<()>,
}

impl Shared {
    fn of<T: Topology + 'static>(slot: &Slot, start: fn() -> T) -> Arc<Self> {
        let mut running = slot.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let servers = Arc::new(Self::start(start));
            *running = Arc::downgrade(&servers);
            servers
        })
    }

    /// The servers belong to a thread of their own: they would end with the thread of the case that starts them.
    fn start<T: Topology + 'static>(start: fn() -> T) -> Self {
        let (needed, end) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let servers = start();
            let ports = servers.servers().into_iter().map(RedisServer::port);
            tell.send((servers.url(), ports.collect())).ok();
            end.recv().ok();
        });
        let (url, ports) = told.recv().expect("servers");
        Self {
            url,
            ports,
            _needed: needed,
        }
    }
}

/// Plants at whichever of these ports takes it.
struct Planter(Vec<u16>);

impl Plant for Planter {
    fn plant<'a>(&'a self, key: &'a Key, state: Bytes, life: Duration) -> Reply<'a, ()> {
        let name = format!("coalesce:state:{{{}}}", key.tag());
        let life = life.as_millis().to_string();
        let words: [&[u8]; 5] = [b"SET", name.as_bytes(), &state, b"PX", life.as_bytes()];
        let takes = |port: &u16| {
            let mut connection = Connection::open(*port).unwrap();
            connection.command_bytes(&words).unwrap() == Value::Text(b"OK".to_vec())
        };
        assert!(self.0.iter().any(takes), "nobody takes {name}");
        Box::pin(ready(Ok(())))
    }
}
