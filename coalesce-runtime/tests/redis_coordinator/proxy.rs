//! A proxy between coordinator and server that loses bytes on request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Passes everything on, until it is told otherwise.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    orders: Arc<Orders>,
}

#[derive(Default)]
struct Orders {
    connections: AtomicU32,
    /// Connections with numbers below this one are black holes.
    swallowed: AtomicU32,
    lose_replies: AtomicBool,
}

impl Proxy {
    pub(crate) fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let orders = Arc::<Orders>::default();
        let given = Arc::clone(&orders);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let number = given.connections.fetch_add(1, Ordering::SeqCst);
                for (from, to, is_reply) in [(&client, &server, false), (&server, &client, true)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let orders = Arc::clone(&given);
                    std::thread::spawn(move || pass_on(from, to, number, is_reply, &orders));
                }
            }
        });
        Self { port, orders }
    }

    pub(crate) fn connections(&self) -> u32 {
        self.orders.connections.load(Ordering::SeqCst)
    }

    /// From now on the present connections stay open and carry nothing. New ones are fine.
    pub(crate) fn swallow_present(&self) {
        self.orders
            .swallowed
            .store(self.connections(), Ordering::SeqCst);
    }

    /// Whether replies are lost, while requests arrive.
    pub(crate) fn lose_replies(&self, lose: bool) {
        self.orders.lose_replies.store(lose, Ordering::SeqCst);
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, number: u32, is_reply: bool, orders: &Orders) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let swallowed = number < orders.swallowed.load(Ordering::SeqCst);
        let lost = is_reply && orders.lose_replies.load(Ordering::SeqCst);
        if !swallowed && !lost && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}
