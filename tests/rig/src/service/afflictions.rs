//! Afflictions: what befalls this process of itself, when it is told so.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::ledger::{Ledger, Note, now_micros};
use crate::orders::Affliction;

static PANIC: AtomicBool = AtomicBool::new(false);
static ENDLESS: AtomicU8 = AtomicU8::new(NONE);
static RELIEF: Notify = Notify::const_new();
static DEPARTURE: Notify = Notify::const_new();

/// No body is to be endless, the next one is, or one is.
const NONE: u8 = 0;
const NEXT: u8 = 1;
const ONE: u8 = 2;

pub(super) fn suffer(affliction: Affliction, ledger: &Path) {
    match affliction {
        Affliction::Panic => PANIC.store(true, Ordering::SeqCst),
        Affliction::EndlessBody => ENDLESS.store(NEXT, Ordering::SeqCst),
        Affliction::Relief => {
            ENDLESS.store(NONE, Ordering::SeqCst);
            RELIEF.notify_waiters();
        }
        Affliction::Hog { lasts_ms } => {
            tokio::spawn(async move { hog(Duration::from_millis(lasts_ms)) });
        }
        Affliction::Departure => {
            let since = now_micros();
            // Before the first of them goes; and behind the last, for more callers may have come meanwhile.
            Ledger::write_departure(ledger, since);
            DEPARTURE.notify_waiters();
            Ledger::write_departure(ledger, since);
        }
    }
}

/// Takes a worker for itself.
fn hog(lasts: Duration) {
    let since = Instant::now();
    while since.elapsed() < lasts {
        std::hint::spin_loop();
    }
}

/// Ends when a caller that is here now goes away.
pub(super) async fn departs() {
    loop {
        DEPARTURE.notified().await;
        if fastrand::bool() {
            return;
        }
    }
}

/// If this is the body that does not end: until relief.
pub(super) async fn endure() {
    let order = Ordering::SeqCst;
    if ENDLESS.compare_exchange(NEXT, ONE, order, order).is_err() {
        return;
    }
    loop {
        let relief = RELIEF.notified();
        if ENDLESS.load(order) != ONE {
            return;
        }
        relief.await;
    }
}

/// Panics, if this is the body that is to.
pub(super) fn panic() {
    if PANIC.swap(false, Ordering::SeqCst) {
        // Nobody is to read of it.
        std::panic::resume_unwind(Box::new("it was told to"));
    }
}

/// A body that is running, and that the ledger is told of when it ends in any way.
pub(super) struct Running<'a> {
    pub(super) ledger: &'a Path,
    pub(super) run: &'a str,
    pub(super) key: &'a str,
    pub(super) has_ended: bool,
}

impl Running<'_> {
    pub(super) fn ends(mut self) {
        self.has_ended = true;
        Ledger::write(self.ledger, self.run, self.key, false);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Behind the end of its test there is no ledger any more.
        if self.has_ended || !self.ledger.exists() {
            return;
        }
        let note = if std::thread::panicking() {
            Note::Panicked
        } else {
            Note::Dropped
        };
        Ledger::write_note(self.ledger, self.run, note);
        Ledger::write(self.ledger, self.run, self.key, false);
    }
}
