//! The in-memory coordinator: one process, no server; the embedded default and the base for tests.

mod channels;
mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use self::channels::Channels;
use self::store::Store;
use crate::engine::ask::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAsk, ReplaceAsk,
};
use crate::engine::cell::{Cell, Told};
use crate::format::message::Message;
use crate::ports::coordinator::{Coordinator, Interest, Listener, Renewals, Reply};
use crate::words::clock::{ServerClock, ServerTime, now};
use crate::words::key::Key;
use crate::words::switch::switch_key;

/// A coordinator that lives in this process and needs no server.
///
/// It runs the very rules that the Redis scripts are held to, so a service tested on it meets the
/// same roles, answers and messages as in production. No question waits and none can fail.
///
/// A clone is another handle to the same store: give clones to several coalescers and they behave
/// like several pods on one Redis. [`MemoryCoordinator::new`] starts a store of its own.
///
/// Time is tokio's, so `tokio::time::pause` and `advance` move leases and ages. Memory is bounded
/// by what has not expired; nothing runs in the background.
///
/// ```
/// use std::time::Duration;
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::coordination::{BeginAnswer, BeginAsk, Coordinator, Token};
/// use coalesce::{Key, MemoryCoordinator};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let one_pod = MemoryCoordinator::new();
/// let another = one_pod.clone();
/// let key = Key::new("shop::get_order", &[&42]);
/// let ask = |token| BeginAsk { token, lease: Duration::from_secs(3), seen: None, following: None, trace: None };
///
/// let first = one_pod.begin(&key, &ask(Token::random())).await?;
/// let second = another.begin(&key, &ask(Token::random())).await?;
/// assert!(matches!(first, BeginAnswer::Lead { .. }));
/// assert!(matches!(second, BeginAnswer::Follow { .. }));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryCoordinator {
    clock: ServerClock,
    shared: Arc<Mutex<Shared>>,
}

/// Under one lock, so that messages leave in the order of the changes they tell of.
#[derive(Default)]
struct Shared {
    store: Store,
    channels: Channels,
    switch: BTreeMap<String, String>,
}

impl MemoryCoordinator {
    /// A coordinator with an empty store.
    pub fn new() -> Self {
        Self {
            clock: ServerClock::exact(FIRST_MOMENT, now()),
            shared: Arc::default(),
        }
    }

    /// Puts raw bytes in the place of a key's state, as a stranger or another version of this
    /// library would: for tests of what has to survive that.
    pub fn plant(&self, key: &Key, state: Bytes, life: Duration) {
        let now = self.now();
        let mut shared = lock(&self.shared);
        shared
            .store
            .ask(key, now, |cell| cell.plant(state, now.plus(life)));
    }

    fn now(&self) -> ServerTime {
        self.clock.server_at(now())
    }

    /// Asks a key's cell and tells the key's listeners before anybody else can ask.
    fn tell<A>(&self, key: &Key, ask: impl FnOnce(&mut Cell, ServerTime) -> Told<A>) -> A {
        let mut shared = lock(&self.shared);
        let now = self.now();
        let told = shared.store.ask(key, now, |cell| ask(cell, now));
        if let Some(message) = told.publish {
            shared.channels.publish(key, &message);
        }
        told.answer
    }

    fn ask<A>(&self, key: &Key, ask: impl FnOnce(&mut Cell, ServerTime) -> A) -> A {
        self.tell(key, |cell, now| Told {
            answer: ask(cell, now),
            publish: None,
        })
    }

    fn ear(&self, key: &Key, shared: &mut Shared) -> Listener {
        let (id, notices) = shared.channels.join(key);
        // A listener must not keep the store of a coordinator alive that nobody holds any more.
        let (channels, key) = (Arc::downgrade(&self.shared), key.clone());
        let interest = Interest::new(move || {
            if let Some(shared) = channels.upgrade() {
                lock(&shared).channels.leave(&key, id);
            }
        });
        Listener::new(notices, interest)
    }
}

/// Where the clock starts: late enough for a value to have been computed before the coordinator was
/// made, and the same in every test.
const FIRST_MOMENT: ServerTime = ServerTime::from_micros(365 * 24 * 3_600 * 1_000_000);

/// A panic elsewhere leaves each cell as it was before or after a question, never in between.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Coordinator for MemoryCoordinator {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn clock(&self, _key: &Key) -> ServerClock {
        self.clock
    }

    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>> {
        Box::pin(async { Ok(self.ask(key, Cell::read)) })
    }

    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer> {
        Box::pin(async { Ok(self.ask(key, |cell, now| cell.begin(now, ask))) })
    }

    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals> {
        Box::pin(async {
            let answer = |ask: &RenewAsk| self.ask(&ask.key, |cell, now| cell.renew(now, ask));
            Ok(asks.iter().map(answer).map(Ok).collect())
        })
    }

    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer> {
        Box::pin(async { Ok(self.tell(key, |cell, now| cell.finish(now, key, ask))) })
    }

    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool> {
        Box::pin(async move { Ok(self.tell(key, |cell, now| cell.abandon(now, key, ask))) })
    }

    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool> {
        Box::pin(async { Ok(self.tell(key, |cell, now| cell.replace(now, key, ask))) })
    }

    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener> {
        Box::pin(async { Ok(self.ear(key, &mut lock(&self.shared))) })
    }

    fn listening(&self, key: &Key) -> Option<Listener> {
        let mut shared = lock(&self.shared);
        let heard = shared.channels.has(key);
        heard.then(|| self.ear(key, &mut shared))
    }

    fn subscriptions(&self) -> usize {
        let channels = &lock(&self.shared).channels;
        channels.len() - usize::from(channels.has(switch_key()))
    }

    fn switches(&self) -> Reply<'_, Vec<(String, String)>> {
        let switch = lock(&self.shared).switch.clone();
        Box::pin(ready(Ok(switch.into_iter().collect())))
    }

    fn set_switch<'a>(
        &'a self,
        field: &'a str,
        text: Option<&'a str>,
    ) -> Reply<'a, Option<String>> {
        Box::pin(async move {
            let mut shared = lock(&self.shared);
            let replaced = match text {
                Some(text) => shared.switch.insert(field.to_owned(), text.to_owned()),
                None => shared.switch.remove(field),
            };
            shared
                .channels
                .publish(switch_key(), &Message::encode_changed(switch_key()));
            Ok(replaced)
        })
    }

    fn switch_news(&self) -> Reply<'_, Listener> {
        self.listen(switch_key())
    }

    fn close(&self) -> Reply<'_, ()> {
        Box::pin(ready(Ok(())))
    }
}

impl Default for MemoryCoordinator {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryCoordinator {
    /// Counts only: the cells hold outcomes, and outcomes are the callers' business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = lock(&self.shared);
        f.debug_struct("MemoryCoordinator")
            .field("cells", &shared.store.len())
            .field("subscriptions", &shared.channels.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::envelope::{Envelope, Status};
    use crate::words::token::Token;

    fn key() -> Key {
        Key::new("shop::login", &[&"secret-name"])
    }

    fn put() -> ReplaceAsk {
        let payload = Bytes::from_static(b"secret-value");
        let token = Token::from_bytes([1; 16]);
        ReplaceAsk {
            envelope: Envelope::new(Status::Done, 1, token, Duration::ZERO, payload),
            life: Duration::from_secs(60),
        }
    }

    #[tokio::test]
    async fn a_clone_shares_the_store_and_a_new_coordinator_does_not() {
        let one = MemoryCoordinator::new();
        one.replace(&key(), &put()).await.unwrap();
        assert!(one.clone().read(&key()).await.unwrap().is_some());
        let other = MemoryCoordinator::new();
        assert!(other.read(&key()).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn the_debug_form_shows_neither_keys_nor_outcomes() {
        let coordinator = MemoryCoordinator::new();
        coordinator.replace(&key(), &put()).await.unwrap();
        let shown = format!("{coordinator:?}");
        assert!(shown.contains("cells: 1"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }

    #[tokio::test]
    async fn a_listener_does_not_keep_the_store_alive() {
        let coordinator = MemoryCoordinator::new();
        let store = Arc::downgrade(&coordinator.shared);
        let ear = coordinator.listen(&key()).await.unwrap();
        drop(coordinator);
        assert!(store.upgrade().is_none());
        drop(ear);
    }

    #[tokio::test(start_paused = true)]
    async fn leases_end_in_paused_time() {
        let coordinator = MemoryCoordinator::new();
        let ask = |token| BeginAsk {
            token: Token::from_bytes([token; 16]),
            lease: Duration::from_secs(3),
            seen: None,
            following: None,
            trace: None,
        };
        coordinator.begin(&key(), &ask(1)).await.unwrap();
        tokio::time::advance(Duration::from_secs(3)).await;
        let answer = coordinator.begin(&key(), &ask(2)).await.unwrap();
        assert!(matches!(answer, BeginAnswer::Lead { .. }), "{answer:?}");
    }
}
