//! The registry: which channels are subscribed, who listens on each, and which are no longer wanted.
//!
//! Plain bookkeeping; everything that waits is in [`subscriber`](super::subscriber).

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// One listener's number, which no other of the process has, and what it hears.
pub(super) type Ear = (u64, mpsc::UnboundedReceiver<Notice>);

/// Every channel of the process.
#[derive(Debug, Default)]
pub(super) struct Registry {
    channels: HashMap<Arc<str>, Channel>,
    /// The channels that are to be subscribed.
    wanted: HashSet<Arc<str>>,
    lingering: Lingering,
    /// The channels that went to another server and may still be subscribed here.
    left: HashSet<Arc<str>>,
}

/// Listeners keep their numbers when their channel goes to another server's registry.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

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
    /// Whether messages may have been missed on the way here from another server.
    has_moved: bool,
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
        Some(channel.listen(&mut self.lingering))
    }

    /// A listener on a channel, and what tells it when the subscription is confirmed.
    pub(super) fn join(&mut self, name: &str, key: &Key) -> (Ear, Confirmation) {
        let name: Arc<str> = name.into();
        let channel = self.channels.entry(Arc::clone(&name)).or_insert_with(|| {
            self.left.remove(&name);
            self.wanted.insert(name);
            Channel::new(key.clone())
        });
        let (asker, confirmation) = oneshot::channel();
        channel.askers.push(asker);
        // Whoever asks has looked before, and the answer can have come since.
        if channel.stand == Stand::Confirmed {
            channel.tell_askers(Ok(()));
        }
        (channel.listen(&mut self.lingering), confirmation)
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
                    channel.confirm();
                } else {
                    self.want(name);
                }
            }
            self.settle(name, now);
        }
    }

    /// The connection is gone, and every subscription with it.
    pub(super) fn forget(&mut self) {
        self.left.clear();
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
        if let Some(channel) = self.channels.get_mut(&name) {
            let place = next_number();
            channel.lingering = Some(place);
            self.lingering.insert(place, (now, name));
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

/// A channel that another server answers for now, with all who listen.
#[derive(Debug)]
pub(super) struct Moving(Arc<str>, Channel);

impl Moving {
    pub(super) fn name(&self) -> &str {
        &self.0
    }
}

/// Channels go to another server's registry, and come from there.
impl Registry {
    /// Takes out the channels that `leaves` says, but for those without listeners: they are forgotten.
    pub(super) fn release(&mut self, leaves: impl Fn(&str) -> bool) -> Vec<Moving> {
        let leaving: Vec<_> = self.channels.keys().filter(|name| leaves(name)).collect();
        let leaving: Vec<_> = leaving.into_iter().map(Arc::clone).collect();
        let taken = leaving.into_iter().filter_map(|name| self.take(name));
        taken.collect()
    }

    fn take(&mut self, name: Arc<str>) -> Option<Moving> {
        let channel = self.channels.remove(&name)?;
        if !self.wanted.remove(&name) {
            self.left.insert(Arc::clone(&name));
        }
        if let Some(place) = channel.lingering {
            self.lingering.remove(&place);
        }
        (!channel.listeners.is_empty()).then_some(Moving(name, channel))
    }

    /// Whether there are channels that have gone and may still be subscribed here.
    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The channels that have gone and may still be subscribed here.
    pub(super) fn take_left(&mut self) -> Vec<String> {
        self.left.drain().map(|name| name.to_string()).collect()
    }

    /// Takes in a channel. Its listeners are told of a gap as soon as it is subscribed here.
    pub(super) fn adopt(&mut self, Moving(name, mut moved): Moving) {
        // Who left while no server answered for the channel has told nobody.
        moved.listeners.retain(|_, listener| !listener.is_closed());
        if moved.listeners.is_empty() {
            return;
        }
        let channel = match self.channels.entry(Arc::clone(&name)) {
            Entry::Vacant(place) => {
                self.left.remove(&name);
                self.wanted.insert(name);
                place.insert(Channel::new(moved.key))
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        if let Some(place) = channel.lingering.take() {
            self.lingering.remove(&place);
        }
        channel.listeners.extend(moved.listeners);
        channel.askers.extend(moved.askers);
        channel.has_moved = true;
        if channel.stand == Stand::Confirmed {
            channel.tell_askers(Ok(()));
            channel.confirm();
        }
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

fn next_number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

impl Channel {
    fn new(key: Key) -> Self {
        Self {
            key,
            stand: Stand::Wanted,
            listeners: HashMap::new(),
            askers: Vec::new(),
            lingering: None,
            has_moved: false,
        }
    }

    fn confirm(&mut self) {
        self.stand = Stand::Confirmed;
        if std::mem::take(&mut self.has_moved) {
            // Only now: who looks at the state again must not miss what comes while it looks.
            self.tell(&Notice::Gap);
        }
    }

    fn listen(&mut self, lingering: &mut Lingering) -> Ear {
        let number = next_number();
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
