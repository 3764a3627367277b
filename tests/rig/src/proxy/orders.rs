//! What a proxy has been told to do, and which of that it has done.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Cut, Mode};

/// Orders have numbers, and those by which something was hurt are counted once.
pub(super) struct Orders {
    server: AtomicU16,
    /// The number of the order, and what it says.
    pub(super) mode: watch::Sender<(u64, Mode)>,
    /// The same: every connection obeys once.
    pub(super) cuts: watch::Sender<(u64, Cut)>,
    given: AtomicU64,
    carried_out: Mutex<BTreeSet<u64>>,
    connections: AtomicU64,
    once: Mutex<Once>,
}

/// Orders that are carried out a number of times and then forgotten.
#[derive(Default)]
pub(super) struct Once {
    pub(super) replies: Option<Replies>,
    /// The connection that carries the last of these bytes of replies is closed behind it.
    pub(super) cut_after: Option<(u64, usize)>,
    /// Connections with numbers below the second are black holes.
    pub(super) black_holes: (u64, u64),
}

/// Replies that are to be spoilt.
pub(super) struct Replies {
    pub(super) order: u64,
    pub(super) left: u32,
    pub(super) to: fn(&[u8]) -> bool,
    pub(super) how: Spoils,
}

/// What becomes of such a reply.
#[derive(Clone, Copy)]
pub(super) enum Spoils {
    /// It is lost.
    Loses,
    /// It is lost, and its connection with it.
    Cuts,
    /// It comes behind another one.
    Precedes(&'static [u8]),
}

impl Orders {
    pub(super) fn before(server: u16) -> Self {
        Self {
            server: AtomicU16::new(server),
            mode: watch::Sender::new((0, Mode::Pass)),
            cuts: watch::Sender::new((0, Cut::Close)),
            given: AtomicU64::new(0),
            carried_out: Mutex::default(),
            connections: AtomicU64::new(0),
            once: Mutex::default(),
        }
    }

    /// The port of the server that new connections are led to.
    pub(super) fn server(&self) -> u16 {
        self.server.load(Ordering::SeqCst)
    }

    pub(super) fn lead_to(&self, server: u16) {
        self.server.store(server, Ordering::SeqCst);
    }

    /// The number of a new order.
    pub(super) fn new_order(&self) -> u64 {
        self.given.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn once(&self) -> MutexGuard<'_, Once> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was hurt by that order.
    pub(super) fn hurt_by(&self, order: u64) {
        self.done().insert(order);
    }

    pub(super) fn carried_out(&self) -> u64 {
        self.done().len() as u64
    }

    fn done(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        let done = self.carried_out.lock();
        done.unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new connection.
    pub(super) fn new_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}
