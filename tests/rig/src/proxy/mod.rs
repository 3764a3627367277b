//! A proxy between pods and their Redis that delays, loses and breaks on request, while everything runs.

mod line;
mod orders;

use std::fmt;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use self::orders::{Orders, Replies, Spoils};

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

impl Proxy {
    /// A proxy before the server on this port.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener
            .set_nonblocking(true)
            .expect("a listener for a runtime");
        let port = listener.local_addr().expect("its number").port();
        let orders = Arc::new(Orders::before(server));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.spawn(line::accept(listener, Arc::clone(&orders)));
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
        let order = self.orders.new_order();
        self.orders.mode.send_replace((order, mode));
    }

    /// From now on new connections lead to the server on this port; present ones stay.
    pub fn lead_to(&self, server: u16) {
        self.orders.lead_to(server);
    }

    /// Ends all present connections.
    pub fn cut(&self, how: Cut) {
        let order = self.orders.new_order();
        self.orders.cuts.send_replace((order, how));
    }

    /// From now on the present connections stay open and carry nothing. New ones are fine.
    pub fn swallow_present(&self) {
        let (order, present) = (self.orders.new_order(), self.connections());
        self.orders.once().black_holes = (order, present);
    }

    /// The next replies to requests that look like this are lost; with `cuts` the connection with them.
    pub fn lose_replies(&self, times: u32, to: fn(&[u8]) -> bool, cuts: bool) {
        let how = if cuts { Spoils::Cuts } else { Spoils::Loses };
        self.spoil(times, to, how);
    }

    /// The next reply to a request that looks like this comes behind a `stray` one that nobody has asked for.
    pub fn send_stray(&self, stray: &'static [u8], to: fn(&[u8]) -> bool) {
        self.spoil(1, to, Spoils::Precedes(stray));
    }

    fn spoil(&self, left: u32, to: fn(&[u8]) -> bool, how: Spoils) {
        let order = self.orders.new_order();
        self.orders.once().replies = Some(Replies {
            order,
            left,
            to,
            how,
        });
    }

    /// How many of the replies ordered to be spoilt still arrive some day as they are.
    pub fn replies_to_spoil(&self) -> u32 {
        let once = self.orders.once();
        once.replies.as_ref().map_or(0, |replies| replies.left)
    }

    /// The connection that carries the last of the next `bytes` of replies is closed in the middle of it.
    pub fn cut_after(&self, bytes: usize) {
        let order = self.orders.new_order();
        self.orders.once().cut_after = Some((order, bytes));
    }

    /// How many connections there have been.
    pub fn connections(&self) -> u64 {
        self.orders.connections()
    }

    /// How many orders there were by which a byte or a connection was hurt: each is one fault, however much it hurt.
    pub fn faults(&self) -> u64 {
        self.orders.carried_out()
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
        let (_, mode) = *self.orders.mode.borrow();
        f.debug_struct("Proxy")
            .field("port", &self.port)
            .field("mode", &mode)
            .finish_non_exhaustive()
    }
}

/// Whether `bytes` hold `part`.
pub fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
