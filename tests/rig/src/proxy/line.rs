//! What passes a proxy: one line for each connection, and what becomes of each piece that it carries.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::orders::{Orders, Spoils};
use super::{Cut, Mode, Way, holds};

pub(super) async fn accept(listener: TcpListener, orders: Arc<Orders>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    while let Ok((client, _)) = listener.accept().await {
        let (order, mode) = *orders.mode.borrow();
        if mode == Mode::CloseAtOnce {
            orders.hurt_by(order);
        } else {
            tokio::spawn(serve(client, Arc::clone(&orders)));
        }
    }
}

async fn serve(mut client: TcpStream, orders: Arc<Orders>) {
    // A server that is not there is a connection that is closed at once.
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", orders.server())).await else {
        return;
    };
    for stream in [&client, &server] {
        stream.set_nodelay(true).expect("a socket");
    }
    let number = orders.new_connection();
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
            Ok(()) = cuts.changed() => {
                let (order, how) = *cuts.borrow();
                orders.hurt_by(order);
                how
            }
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
    /// Whether the last request was one whose reply is to be spoilt.
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
            self.stall(&mut modes).await;
            let Ok(length @ 1..) = from.read(&mut buffer).await else {
                return;
            };
            // It may have been waited for from before the stall.
            self.stall(&mut modes).await;
            let (order, mode) = *modes.borrow();
            if let Mode::Throttle(rate) = mode {
                self.orders.hurt_by(order);
                let bytes = u32::try_from(length).unwrap_or(u32::MAX);
                sleep(Duration::from_secs(1) * bytes / rate).await;
            }
            let fate = self.fate(way, (order, mode), buffer[..length].to_vec());
            let last = fate.last;
            if belt.send(fate).await.is_err() || last {
                return;
            }
        }
    }

    /// Waits for the end of a stall.
    async fn stall(&self, modes: &mut watch::Receiver<(u64, Mode)>) {
        let (order, mode) = *modes.borrow();
        if mode == Mode::Stall {
            self.orders.hurt_by(order);
            modes.wait_for(|(_, mode)| *mode != Mode::Stall).await.ok();
        }
    }

    fn fate(&self, way: Way, (order, mode): (u64, Mode), mut bytes: Vec<u8>) -> Fate {
        let mut fate = Fate {
            bytes: Vec::new(),
            due: Instant::now(),
            last: false,
        };
        if self.is_black_hole() || self.is_spoilt(way, &mut bytes, &mut fate) {
            return fate;
        }
        match mode {
            Mode::Swallow(lost) if lost == way || lost == Way::Both => {
                self.orders.hurt_by(order);
                return fate;
            }
            Mode::SwallowMessages if way == Way::Down && holds(&bytes, b"\r\nmessage\r\n") => {
                self.orders.hurt_by(order);
                return fate;
            }
            Mode::Corrupt if way == Way::Down => {
                self.orders.hurt_by(order);
                bytes[0] = b'?';
            }
            Mode::Delay { by, jitter } => {
                self.orders.hurt_by(order);
                fate.due += by + jitter.mul_f64(fraction());
            }
            _ => {}
        }
        if way == Way::Down {
            self.cut(&mut bytes, &mut fate);
        }
        Fate { bytes, ..fate }
    }

    fn is_black_hole(&self) -> bool {
        let (order, below) = self.orders.once().black_holes;
        let swallowed = self.number < below;
        if swallowed {
            self.orders.hurt_by(order);
        }
        swallowed
    }

    /// Whether nothing is left of this reply, by an order for it.
    fn is_spoilt(&self, way: Way, bytes: &mut Vec<u8>, fate: &mut Fate) -> bool {
        let mut once = self.orders.once();
        let Some(replies) = &mut once.replies else {
            return false;
        };
        match way {
            Way::Down if self.hit.swap(false, Ordering::SeqCst) => {
                self.orders.hurt_by(replies.order);
                if let Spoils::Precedes(stray) = replies.how {
                    bytes.splice(0..0, stray.iter().copied());
                    return false;
                }
                fate.last = matches!(replies.how, Spoils::Cuts);
                true
            }
            Way::Up if replies.left > 0 && (replies.to)(bytes) => {
                replies.left -= 1;
                self.hit.store(true, Ordering::SeqCst);
                false
            }
            _ => false,
        }
    }

    fn cut(&self, bytes: &mut Vec<u8>, fate: &mut Fate) {
        let mut once = self.orders.once();
        match once.cut_after {
            Some((order, left)) if left <= bytes.len() => {
                once.cut_after = None;
                self.orders.hurt_by(order);
                bytes.truncate(left);
                fate.last = true;
            }
            Some((order, left)) => once.cut_after = Some((order, left - bytes.len())),
            None => {}
        }
    }
}

/// Some number from 0 to 1, as random as the clock's last digits.
fn fraction() -> f64 {
    f64::from(u32::try_from(crate::now_micros() % 1_000).unwrap_or(0)) / 1_000.0
}
