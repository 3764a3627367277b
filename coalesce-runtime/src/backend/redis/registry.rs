//! The registry: which channels are subscribed, who listens on each, and which are no longer wanted.
//!
//! Plain bookkeeping; everything that waits is in [`subscriber`](super::subscriber).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use crate::format::envelope::Unreadable;
use crate::format::message::Message;
use crate::ports::coordinator::Notice;
use crate::words::clock::Instant;
use crate::words::fault::Fault;
use crate::words::key::Key;

/// No more channels than this linger, however long the linger is.
const MOST_LINGERING: usize = 1_000;

/// When too many linger, this many more go with the oldest, so that not every next one costs a command.
const AT_ONCE: usize = 100;

/// Tells whether a subscription is confirmed.
pub(super) type Confirmation = oneshot::Receiver<Result<(), Fault>>;

/// One listener's number, and what it hears.
pub(super) type Ear = (u64, mpsc::UnboundedReceiver<Notice>);

/// Every channel of the process.
#[derive(Debug, Default)]
pub(super) struct Registry {
    channels: HashMap<Arc<str>, Channel>,
    /// The channels that are to be subscribed.
    wanted: HashSet<Arc<str>>,
    lingering: Lingering,
    numbers: u64,
}

/// The channels without listeners, oldest first.
type Lingering = BTreeMap<u64, (Instant, Arc<str>)>;

#[derive(Debug)]
struct Channel {
    key: Key,
    stand: Stand,
    listeners: HashMap<u64, mpsc::UnboundedSender<Notice>>,
    askers: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// Its place among the lingering.
    lingering: Option<u64>,
}

/// How far the subscription of a channel has come on the present connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Wanted,
    Asked,
    Confirmed,
}

/// What came of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Those who listen have it.
    Told,
    /// Nobody listens, or it is none of this library's.
    Ignored,
    /// It is another key's: replies or messages have been mixed up.
    OtherKey,
}

/// Listeners come and go.
impl Registry {
    /// A listener on a channel that is confirmed already.
    pub(super) fn join_confirmed(&mut self, name: &str) -> Option<Ear> {
        let channel = self.channels.get_mut(name)?;
        if channel.stand != Stand::Confirmed {
            return None;
        }
        self.numbers += 1;
        Some(channel.listen(self.numbers, &mut self.lingering))
    }

    /// A listener on a channel, and what tells it when the subscription is confirmed.
    pub(super) fn join(&mut self, name: &str, key: &Key) -> (Ear, Confirmation) {
        self.numbers += 1;
        let name: Arc<str> = name.into();
        let channel = self.channels.entry(Arc::clone(&name)).or_insert_with(|| {
            self.wanted.insert(name);
            Channel::new(key.clone())
        });
        let (asker, confirmation) = oneshot::channel();
        channel.askers.push(asker);
        (
            channel.listen(self.numbers, &mut self.lingering),
            confirmation,
        )
    }

    /// A listener went away. Answers whether the next farewell has come nearer.
    pub(super) fn leave(&mut self, name: &str, listener: u64, now: Instant) -> bool {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.listeners.remove(&listener);
        }
        self.settle(name, now);
        self.lingering.len() == 1 || self.lingering.len() > MOST_LINGERING
    }

    /// Whether a channel is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.channels.contains_key(name)
    }

    /// How many channels there are, lingering ones included.
    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }
}

/// The server is asked, and answers.
impl Registry {
    /// The channels that are to be subscribed. They count as asked for from now on.
    pub(super) fn take_wanted(&mut self) -> Vec<String> {
        let wanted: Vec<_> = self.wanted.drain().collect();
        for name in &wanted {
            if let Some(channel) = self.channels.get_mut(name) {
                channel.stand = Stand::Asked;
            }
        }
        wanted.iter().map(ToString::to_string).collect()
    }

    /// The server has answered for these channels.
    pub(super) fn answer(&mut self, names: &[String], answer: Result<(), Fault>, now: Instant) {
        for name in names {
            if let Some(channel) = self.channels.get_mut(&**name) {
                channel.tell_askers(answer);
                if answer.is_ok() {
                    channel.stand = Stand::Confirmed;
                } else {
                    self.want(name);
                }
            }
            self.settle(name, now);
        }
    }

    /// The connection is gone, and every subscription with it.
    pub(super) fn forget(&mut self) {
        let names: Vec<_> = self.channels.keys().map(Arc::clone).collect();
        for name in names {
            self.want(&name);
        }
    }

    fn want(&mut self, name: &str) {
        if let Some((name, _)) = self.channels.get_key_value(name) {
            self.wanted.insert(Arc::clone(name));
        }
        if let Some(channel) = self.channels.get_mut(name) {
            channel.stand = Stand::Wanted;
        }
    }

    /// A channel without listeners lingers once it is confirmed, and is forgotten when it is not even asked for.
    fn settle(&mut self, name: &str, now: Instant) {
        let Some((name, channel)) = self.channels.get_key_value(name) else {
            return;
        };
        if !channel.listeners.is_empty() || channel.lingering.is_some() {
            return;
        }
        let (name, stand) = (Arc::clone(name), channel.stand);
        match stand {
            Stand::Asked => {}
            Stand::Wanted => {
                self.wanted.remove(&name);
                self.channels.remove(&name);
            }
            Stand::Confirmed => self.linger(name, now),
        }
    }
}

/// Channels linger, and go.
impl Registry {
    fn linger(&mut self, name: Arc<str>, now: Instant) {
        self.numbers += 1;
        if let Some(channel) = self.channels.get_mut(&name) {
            channel.lingering = Some(self.numbers);
            self.lingering.insert(self.numbers, (now, name));
        }
    }

    /// When the next lingering channel is to go. `None` when nothing lingers.
    pub(super) fn next_farewell(&self, linger: Duration) -> Option<Instant> {
        let (_, (since, _)) = self.lingering.first_key_value()?;
        let crowded = self.lingering.len() > MOST_LINGERING;
        Some(if crowded { *since } else { *since + linger })
    }

    /// Takes out the channels that have lingered long enough, and the oldest when they are too many.
    pub(super) fn take_overdue(&mut self, now: Instant, linger: Duration) -> Vec<String> {
        let mut overdue = Vec::new();
        let crowded = self.lingering.len() > MOST_LINGERING;
        let kept = if crowded {
            MOST_LINGERING - AT_ONCE
        } else {
            MOST_LINGERING
        };
        let mut too_many = self.lingering.len().saturating_sub(kept);
        while let Some(oldest) = self.lingering.first_entry() {
            if too_many == 0 && oldest.get().0 + linger > now {
                break;
            }
            let (_, name) = oldest.remove();
            self.wanted.remove(&name);
            self.channels.remove(&name);
            overdue.push(name.to_string());
            too_many = too_many.saturating_sub(1);
        }
        overdue
    }
}

/// Messages come.
impl Registry {
    /// Tells a channel's listeners what came on it.
    pub(super) fn hear(&self, name: &str, payload: &Bytes) -> Heard {
        let Some(channel) = self.channels.get(name) else {
            return Heard::Ignored;
        };
        match Message::decode(&channel.key, payload) {
            Ok(message) => {
                channel.tell(&Notice::Message(message));
                Heard::Told
            }
            Err(Unreadable::OtherKey) => Heard::OtherKey,
            Err(_) => Heard::Ignored,
        }
    }

    /// Tells everybody that something may have been missed.
    pub(super) fn tell_gap(&self) {
        for channel in self.channels.values() {
            channel.tell(&Notice::Gap);
        }
    }
}

impl Channel {
    fn new(key: Key) -> Self {
        Self {
            key,
            stand: Stand::Wanted,
            listeners: HashMap::new(),
            askers: Vec::new(),
            lingering: None,
        }
    }

    fn listen(&mut self, number: u64, lingering: &mut Lingering) -> Ear {
        if let Some(place) = self.lingering.take() {
            lingering.remove(&place);
        }
        let (listener, ear) = mpsc::unbounded_channel();
        self.listeners.insert(number, listener);
        (number, ear)
    }

    fn tell(&self, notice: &Notice) {
        for listener in self.listeners.values() {
            // One that has just gone away is about to leave.
            let _ = listener.send(notice.clone());
        }
    }

    fn tell_askers(&mut self, answer: Result<(), Fault>) {
        for asker in self.askers.drain(..) {
            let _ = asker.send(answer);
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
