//! The switchboard: this process's copy of the kill switch. Asking it costs no round trip.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use crate::ports::coordinator::{Coordinator, Listener};
use crate::words::clock::{ServerTime, now};
use crate::words::limiter::Limiter;
use crate::words::switch::{Position, Scope, field_of, switch_key};

/// How long a change may stay unseen when nobody tells of it.
const REREAD: Duration = Duration::from_secs(1);

/// Between two reads, whatever is said meanwhile: who turns the switch again and again keeps nobody reading.
const APART: Duration = Duration::from_millis(10);

/// The last known positions. They stay when the coordinator cannot be read.
#[derive(Debug)]
pub(crate) struct Switchboard {
    coordinator: Arc<dyn Coordinator>,
    /// Whether there is any position at all: what every call looks at first.
    any: AtomicBool,
    positions: RwLock<HashMap<String, Position>>,
    /// What cannot be read is met again every second.
    unreadable: Mutex<Limiter>,
}

impl Switchboard {
    pub(crate) fn new(coordinator: Arc<dyn Coordinator>) -> Arc<Self> {
        Arc::new(Self {
            coordinator,
            any: AtomicBool::new(false),
            positions: RwLock::default(),
            unreadable: Mutex::default(),
        })
    }

    /// Whether calls of `namespace` are to run as if no attribute were there.
    pub(crate) fn is_off(&self, namespace: &str) -> bool {
        if !self.any.load(Ordering::Relaxed) {
            return false;
        }
        let positions = self
            .positions
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let now = self.server_now();
        let holds = |field: &str| positions.get(field).filter(|it| it.holds_at(now));
        let position = holds(&field_of(namespace)).or_else(|| holds(&Scope::Everything.field()));
        position.is_some_and(|position| !position.on)
    }

    fn server_now(&self) -> ServerTime {
        self.coordinator.clock(switch_key()).server_at(now())
    }

    /// The position of a scope that holds now, as far as this process knows.
    pub(crate) fn position(&self, scope: &Scope) -> Option<Position> {
        let positions = self.positions.read();
        let positions = positions.unwrap_or_else(PoisonError::into_inner);
        let position = positions.get(&scope.field());
        position
            .filter(|it| it.holds_at(self.server_now()))
            .cloned()
    }

    /// Every position by its field, those included that have ended, as far as this process knows.
    pub(crate) fn positions(&self) -> HashMap<String, Position> {
        let positions = self.positions.read();
        positions.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the positions anew. What cannot be read changes nothing: neither that there is no answer, nor what stands
    /// in a field and is no position.
    pub(crate) async fn reread(&self) {
        let Ok(fields) = self.coordinator.switches().await else {
            return;
        };
        let mut positions = self
            .positions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut unreadable = false;
        let read = |(field, text): (String, String)| {
            let position = Position::decode(&text);
            unreadable |= position.is_none();
            // A process that starts over it has never known any, and takes it for none.
            let position = position.or_else(|| positions.get(&field).cloned())?;
            Some((field, position))
        };
        let now: HashMap<_, _> = fields.into_iter().filter_map(read).collect();
        self.any.store(!now.is_empty(), Ordering::Relaxed);
        *positions = now;
        drop(positions);
        if unreadable {
            self.say_unreadable();
        }
    }

    /// What stands there is not shown: it is not ours to repeat.
    fn say_unreadable(&self) {
        let mut limiter = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(left_out) = limiter.admit(now()) {
            tracing::warn!(left_out, "a position of the kill switch cannot be read");
        }
    }

    /// Keeps the copy up to date, by news and every second, for as long as the board is there.
    pub(crate) async fn keep_up(board: Weak<Self>) {
        let mut news: Option<Listener> = None;
        while let Some(board) = board.upgrade() {
            if news.is_none() {
                news = board.coordinator.switch_news().await.ok();
            }
            // What has been said by now is in what is read now.
            drain(&mut news).await;
            board.reread().await;
            drop(board);
            let read = now();
            tokio::time::sleep_until(read + APART).await;
            tokio::select! {
                () = heard(&mut news) => {}
                () = tokio::time::sleep_until(read + REREAD) => {}
            }
        }
    }
}

async fn drain(news: &mut Option<Listener>) {
    while news.as_ref().is_some_and(Listener::has_news) {
        heard(news).await;
    }
}

async fn heard(news: &mut Option<Listener>) {
    match news {
        Some(news) => drop(news.next().await),
        None => std::future::pending().await,
    }
}
