//! A proxy between pods and their Redis that delays, loses and breaks on request, while everything runs.

use std::fmt;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// What happens to everything that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Pass,
    /// It comes this much later, each way, and by up to as much again as `jitter`.
    Delay {
        /// The least.
        by: Duration,
        /// What may be added.
        jitter: Duration,
    },
    /// It is not taken from the sender: back-pressure, and nothing is lost.
    Stall,
    /// It is taken and lost.
    Swallow(Way),
    /// Replies with a message of a channel are lost; other replies pass.
    SwallowMessages,
    /// The first byte of every chunk of replies is another one.
    Corrupt,
    /// So many bytes each second, each way.
    Throttle(u32),
    /// New connections are accepted and closed; present ones go on.
    CloseAtOnce,
}

/// A way through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From pods to Redis.
    Up,
    /// From Redis to pods.
    Down,
    /// Both ways.
    Both,
}

/// How present connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// In order, both ways.
    Close,
    /// By a reset.
    Reset,
    /// Pods are told that nothing more will come, and can still send.
    HalfClose,
}

/// A running proxy on a free loopback port.
pub struct Proxy {
    port: u16,
    orders: Arc<Orders>,
    runtime: Option<Runtime>,
}

struct Orders {
    server: u16,
    mode: watch::Sender<Mode>,
    /// The number of cuts so far, and the manner of the last: every connection obeys once.
    cuts: watch::Sender<(u64, Cut)>,
    /// Connections with numbers below this one are black holes.
    black_holes: AtomicU64,
    connections: AtomicU64,
    faults: AtomicU64,
    once: Mutex<Once>,
}

/// Orders that are carried out a number of times and then forgotten.
#[derive(Default)]
struct Once {
    lost_replies: Option<LostReplies>,
    /// The connection that carries the last of these bytes of replies is closed behind it.
    cut_after: Option<usize>,
}

struct LostReplies {
    left: u32,
    to: fn(&[u8]) -> bool,
    cuts: bool,
}

impl Proxy {
    /// A proxy before the server on this port.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener
            .set_nonblocking(true)
            .expect("a listener for a runtime");
        let port = listener.local_addr().expect("its number").port();
        let orders = Arc::new(Orders {
            server,
            mode: watch::Sender::new(Mode::Pass),
            cuts: watch::Sender::new((0, Cut::Close)),
            black_holes: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            once: Mutex::default(),
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.spawn(accept(listener, Arc::clone(&orders)));
        Self {
            port,
            orders,
            runtime: Some(runtime),
        }
    }

    /// The URL of the server's database 0 by way of this proxy.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// From now on.
    pub fn set(&self, mode: Mode) {
        self.orders.mode.send_replace(mode);
    }

    /// Ends all present connections.
    pub fn cut(&self, how: Cut) {
        self.orders.note();
        self.orders.cuts.send_modify(|(count, manner)| {
            *count += 1;
            *manner = how;
        });
    }

    /// From now on the present connections stay open and carry nothing. New ones are fine.
    pub fn swallow_present(&self) {
        self.orders.note();
        let present = self.connections();
        self.orders.black_holes.store(present, Ordering::SeqCst);
    }

    /// The next replies to requests that look like this are lost; with `cuts` the connection with them.
    pub fn lose_replies(&self, times: u32, to: fn(&[u8]) -> bool, cuts: bool) {
        let left = times;
        self.orders.once().lost_replies = Some(LostReplies { left, to, cuts });
    }

    /// How many of the replies ordered to be lost still arrive some day.
    pub fn replies_to_lose(&self) -> u32 {
        let once = self.orders.once();
        once.lost_replies.as_ref().map_or(0, |lost| lost.left)
    }

    /// The connection that carries the last of the next `bytes` of replies is closed in the middle of it.
    pub fn cut_after(&self, bytes: usize) {
        self.orders.once().cut_after = Some(bytes);
    }

    /// How many connections there have been.
    pub fn connections(&self) -> u64 {
        self.orders.connections.load(Ordering::SeqCst)
    }

    /// What has been lost, changed, turned away or cut, counted.
    pub fn faults(&self) -> u64 {
        self.orders.faults.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = *self.orders.mode.borrow();
        f.debug_struct("Proxy")
            .field("port", &self.port)
            .field("mode", &mode)
            .finish_non_exhaustive()
    }
}

impl Orders {
    fn once(&self) -> MutexGuard<'_, Once> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self) {
        self.faults.fetch_add(1, Ordering::SeqCst);
    }
}

async fn accept(listener: TcpListener, orders: Arc<Orders>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while let Ok((client, _)) = listener.accept().await {
        let turned_away = *orders.mode.borrow() == Mode::CloseAtOnce;
        if turned_away {
            orders.note();
        } else {
            tokio::spawn(serve(client, Arc::clone(&orders)));
        }
    }
}

async fn serve(mut client: TcpStream, orders: Arc<Orders>) {
    // A server that is not there is a connection that is closed at once.
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", orders.server)).await else {
        return;
    };
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket");
    }
    let number = orders.connections.fetch_add(1, Ordering::SeqCst);
    let mut cuts = orders.cuts.subscribe();
    let line = Line {
        orders: &orders,
        number,
        hit: AtomicBool::new(false),
    };
    let how = {
        let ((client_in, client_out), (server_in, server_out)) = (client.split(), server.split());
        tokio::select! {
            () = line.carry(Way::Up, client_in, server_out) => Cut::Close,
            () = line.carry(Way::Down, server_in, client_out) => Cut::Close,
            Ok(()) = cuts.changed() => cuts.borrow().1,
        }
    };
    match how {
        Cut::Close => {}
        Cut::Reset => {
            for stream in [&client, &server] {
                stream.set_zero_linger().expect("a socket");
            }
        }
        Cut::HalfClose => {
            // The pod may have gone by itself.
            let _ = client.shutdown().await;
            sleep(Duration::from_secs(1)).await;
        }
    }
}

/// One connection.
struct Line<'a> {
    orders: &'a Orders,
    number: u64,
    /// Whether the last request was one whose reply is to be lost.
    hit: AtomicBool,
}

/// What becomes of a chunk.
struct Fate {
    bytes: Vec<u8>,
    due: Instant,
    /// The connection ends behind it.
    last: bool,
}

impl Line<'_> {
    /// Carries one way until an end of it closes.
    async fn carry(&self, way: Way, from: ReadHalf<'_>, mut to: WriteHalf<'_>) {
        let (sender, mut belt) = mpsc::channel::<Fate>(256);
        let take = async {
            self.take(way, from, sender).await;
            // What is on the belt still arrives.
            std::future::pending::<()>().await;
        };
        let bring = async {
            while let Some(Fate { bytes, due, .. }) = belt.recv().await {
                sleep_until(due).await;
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = take => {}
            () = bring => {}
        }
    }

    async fn take(&self, way: Way, mut from: ReadHalf<'_>, belt: mpsc::Sender<Fate>) {
        let mut modes = self.orders.mode.subscribe();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            modes.wait_for(|mode| *mode != Mode::Stall).await.ok();
            let Ok(length @ 1..) = from.read(&mut buffer).await else {
                return;
            };
            // It may have been waited for from before the stall.
            modes.wait_for(|mode| *mode != Mode::Stall).await.ok();
            let mode = *modes.borrow();
            if let Mode::Throttle(rate) = mode {
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                sleep(Duration::from_secs(1) * bytes / rate).await;
            }
            let fate = self.fate(way, mode, buffer[..length].to_vec());
            let last = fate.last;
            if belt.send(fate).await.is_err() || last {
                return;
            }
        }
    }

    fn fate(&self, way: Way, mode: Mode, mut bytes: Vec<u8>) -> Fate {
        let mut fate = Fate {
            bytes: Vec::new(),
            due: Instant::now(),
            last: false,
        };
        if self.number < self.orders.black_holes.load(Ordering::SeqCst)
            || self.is_lost(way, &bytes, &mut fate)
        {
            return fate;
        }
        match mode {
            Mode::Swallow(lost) if lost == way || lost == Way::Both => {
                self.orders.note();
                return fate;
            }
            Mode::SwallowMessages if way == Way::Down && holds(&bytes, b"\r\nmessage\r\n") => {
                self.orders.note();
                return fate;
            }
            Mode::Corrupt if way == Way::Down => {
                self.orders.note();
                bytes[0] = b'?';
            }
            Mode::Delay { by, jitter } => fate.due += by + jitter.mul_f64(fraction()),
            _ => {}
        }
        if way == Way::Down {
            self.cut(&mut bytes, &mut fate);
        }
        Fate { bytes, ..fate }
    }

    /// Whether this reply is one that was ordered to be lost.
    fn is_lost(&self, way: Way, bytes: &[u8], fate: &mut Fate) -> bool {
        let mut once = self.orders.once();
        let Some(lost) = &mut once.lost_replies else {
            return false;
        };
        match way {
            Way::Down if self.hit.swap(false, Ordering::SeqCst) => {
                self.orders.note();
                fate.last = lost.cuts;
                true
            }
            Way::Up if lost.left > 0 && (lost.to)(bytes) => {
                lost.left -= 1;
                self.hit.store(true, Ordering::SeqCst);
                false
            }
            _ => false,
        }
    }

    fn cut(&self, bytes: &mut Vec<u8>, fate: &mut Fate) {
        let mut once = self.orders.once();
        match once.cut_after {
            Some(left) if left <= bytes.len() => {
                once.cut_after = None;
                self.orders.note();
                bytes.truncate(left);
                fate.last = true;
            }
            Some(left) => once.cut_after = Some(left - bytes.len()),
            None => {}
        }
    }
}

/// Whether `bytes` hold `part`.
pub fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Some number from 0 to 1, as random as the clock's last digits.
fn fraction() -> f64 {
    f64::from(u32::try_from(crate::now_micros() % 1_000).unwrap_or(0)) / 1_000.0
}
