//! The coordinator: who keeps locks and states, and tells those who listen.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::health::CoordinatorHealth;
use crate::engine::ask::{
    AbandonAsk, BeginAnswer, BeginAsk, FinishAnswer, FinishAsk, RenewAnswer, RenewAsk, ReplaceAsk,
};
use crate::format::message::Message;
use crate::words::clock::ServerClock;
use crate::words::fault::Fault;
use crate::words::key::Key;

/// The answer to one question, within the coordinator's own deadline.
pub type Reply<'a, A> = Pin<Box<dyn Future<Output = Result<A, Fault>> + Send + 'a>>;

/// The answers to a batch of [`RenewAsk`]s, in their order.
pub type Renewals = Vec<Result<RenewAnswer, Fault>>;

/// Keeps lock and state of every key and carries the messages between processes.
///
/// Each question is atomic, is answered within the coordinator's operation deadline, and may be
/// asked again with the same token: the state is then the same, and so is the answer, except that who gave its
/// lock away with the first is told afterwards that it has none (FINISH: fenced, then lost; ABANDON: yes, then
/// no). A [`Fault`] says that there is no answer, not that nothing happened. The numbered conformance suite states what
/// every implementation promises.
///
/// A question is always asked to its end: an implementation keeps going when the returned future is
/// dropped, or is not affected by it.
pub trait Coordinator: fmt::Debug + Send + Sync + 'static {
    /// Its kind, for people: `"redis"` or `"memory"`.
    fn kind(&self) -> &'static str;

    /// How it is. No round trip. Sound, where an implementation says nothing.
    fn health(&self) -> CoordinatorHealth {
        CoordinatorHealth::sound()
    }

    /// How long a question may go without an answer. Who follows a flight and gets none for twice as long goes on
    /// without the coordinator. 250 ms unless an implementation says otherwise.
    fn deadline(&self) -> Duration {
        Duration::from_millis(250)
    }

    /// What is known of the clock by which it measures ages and leases of this key. No round trip.
    ///
    /// Where several servers share the keys, each has a clock of its own.
    fn clock(&self, key: &Key) -> ServerClock;

    /// Some call site of this process takes payloads of so many bytes, and none takes more than the most that was said so
    /// far. Said at each call, and no round trip.
    ///
    /// A coordinator that others can write to cuts what is longer: an envelope that is cut is a miss. One that stands
    /// before another passes it on.
    fn takes(&self, _payload: usize) {}

    /// The state's bytes, whatever they are. One `GETRANGE` in Redis.
    fn read<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Bytes>>;

    /// Look at the state again, then try the lock. One script in Redis.
    fn begin<'a>(&'a self, key: &'a Key, ask: &'a BeginAsk) -> Reply<'a, BeginAnswer>;

    /// Give these locks their lease again; answers in the order of the asks, each of which may be missing
    /// for reasons of its own. One pipeline in Redis.
    fn renew<'a>(&'a self, asks: &'a [RenewAsk]) -> Reply<'a, Renewals>;

    /// Store the outcome, delete the lock, publish; only while the lock holds the token. One script.
    fn finish<'a>(&'a self, key: &'a Key, ask: &'a FinishAsk) -> Reply<'a, FinishAnswer>;

    /// Free the lock if the flight holds it, and say so on the channel. One script.
    /// Answers whether it did.
    fn abandon<'a>(&'a self, key: &'a Key, ask: AbandonAsk) -> Reply<'a, bool>;

    /// Put a state in place from outside any flight, and fence the flight in progress. One script.
    /// Answers whether a flight was fenced.
    fn replace<'a>(&'a self, key: &'a Key, ask: &'a ReplaceAsk) -> Reply<'a, bool>;

    /// Hear the key's messages from now on: what is published after this answer is heard, unless the
    /// subscription breaks, and then [`Notice::Gap`] is.
    ///
    /// A fault means that nothing will be heard; the asker polls. At most one `SUBSCRIBE` per key and process.
    fn listen<'a>(&'a self, key: &'a Key) -> Reply<'a, Listener>;

    /// The same without any I/O, when the subscription exists already and is known to be sound.
    fn listening(&self, key: &Key) -> Option<Listener>;

    /// How many channels of keys are subscribed, lingering ones included.
    fn subscriptions(&self) -> usize;

    /// Every position of the kill switch, as field and text. One `HGETALL` in Redis.
    ///
    /// A coordinator without a switch leaves this and the next two as they are: everything is on.
    fn switches(&self) -> Reply<'_, Vec<(String, String)>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Set a position of the kill switch, or clear it, and tell every process. One script. Answers
    /// the text that it replaces.
    fn set_switch<'a>(
        &'a self,
        _field: &'a str,
        _text: Option<&'a str>,
    ) -> Reply<'a, Option<String>> {
        Box::pin(ready(Err(Fault::Refused)))
    }

    /// Hear of changes to the kill switch: any notice means that it is to be read again.
    fn switch_news(&self) -> Reply<'_, Listener> {
        Box::pin(ready(Err(Fault::Refused)))
    }

    /// Say that this process knows these names, for so long. Each is a word of the switch's field names. One script
    /// for a hundred of them.
    ///
    /// A coordinator that other processes do not share leaves this and the next as they are.
    fn announce<'a>(&'a self, _names: &'a [String], _life: Duration) -> Reply<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    /// What any process has announced, and whose life has not ended. One `ZRANGE` in Redis.
    fn announced(&self) -> Reply<'_, Vec<String>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Close connections in an orderly way.
    fn close(&self) -> Reply<'_, ()>;
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A message of its key.
    Message(Message),
    /// Messages may have been missed: look at the state again.
    Gap,
}

/// A waiter's ear on one key. Dropping it ends the interest; the subscription lingers a little.
#[derive(Debug)]
pub struct Listener {
    notices: mpsc::UnboundedReceiver<Notice>,
    _interest: Interest,
}

/// Runs a closure when the last interest in something is gone.
pub struct Interest(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Interest {
    /// `farewell` runs when this is dropped.
    pub fn new(farewell: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(farewell)))
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interest")
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if let Some(farewell) = self.0.take() {
            farewell();
        }
    }
}

impl Listener {
    /// An ear that hears what is sent into `notices`.
    pub fn new(notices: mpsc::UnboundedReceiver<Notice>, interest: Interest) -> Self {
        Self {
            notices,
            _interest: interest,
        }
    }

    /// Whether there is a notice that nobody has taken yet.
    pub(crate) fn has_news(&self) -> bool {
        !self.notices.is_empty()
    }

    /// The next notice. Nothing is heard any more once the coordinator went away; polls go on.
    pub async fn next(&mut self) -> Notice {
        match self.notices.recv().await {
            Some(notice) => notice,
            None => std::future::pending().await,
        }
    }
}
