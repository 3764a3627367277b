//! The Redis coordinator, on a private server that the cases share, in real time.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use coalesce_rig::{Connection, RedisServer, Value};
use coalesce_runtime::coordination::Reply;
use coalesce_runtime::{Key, RedisCoordinator, RedisSettings};

use crate::world::{Plant, Subject, World};

struct Redis;

impl Subject for Redis {
    fn run(case: impl AsyncFnOnce(&World)) {
        let server = Shared::server();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let connect = async || {
                let settings = RedisSettings::new(server.url.clone())
                    .linger(Duration::from_millis(300))
                    // A busy machine is no fault.
                    .deadline(Duration::from_secs(5));
                Arc::new(RedisCoordinator::connect(settings).await.unwrap())
            };
            let (here, there) = (connect().await, connect().await);
            let planter = Box::new(Planter { port: server.port });
            // Redis counts milliseconds, and a sleep may end a little early on another clock.
            let grain = Duration::from_millis(15);
            case(&World::new(here, there, planter, grain)).await;
        });
    }
}

/// The server of this run. It is there as long as any case needs it, and ends with the last one,
/// however that ends.
struct Shared {
    url: String,
    port: u16,
    _needed: mpsc::Sender<()>,
}

impl Shared {
    fn server() -> Arc<Self> {
        static SERVER: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
        let mut running = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::start());
            *running = Arc::downgrade(&server);
            server
        })
    }

    /// The server belongs to a thread of its own: it would end with the thread of the case that starts it.
    fn start() -> Self {
        let (needed, end) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let server = RedisServer::start();
            tell.send((server.url(), server.port())).ok();
            end.recv().ok();
        });
        let (url, port) = told.recv().expect("a server");
        Self {
            url,
            port,
            _needed: needed,
        }
    }
}

struct Planter {
    port: u16,
}

impl Plant for Planter {
    fn plant<'a>(&'a self, key: &'a Key, state: Bytes, life: Duration) -> Reply<'a, ()> {
        let name = format!("coalesce:state:{{{}}}", key.tag());
        let life = life.as_millis().to_string();
        let words: [&[u8]; 5] = [b"SET", name.as_bytes(), &state, b"PX", life.as_bytes()];
        let mut connection = Connection::open(self.port).unwrap();
        let answer = connection.command_bytes(&words).unwrap();
        assert_eq!(answer, Value::Text(b"OK".to_vec()));
        Box::pin(ready(Ok(())))
    }
}

crate::cases::run_all_on!(Redis);
