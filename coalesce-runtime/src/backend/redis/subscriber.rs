//! The subscriber: the process's ear, on a connection of its own on which only PING's reply matters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::interfaces::EventInterface as _;
use fred::types::{Message, Value};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::client::Line;
use super::keeper::Task;
use super::registry::{Confirmation, Ear, Heard, Moving, Registry};
use super::subscribing::Conversation;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;
use crate::words::key::Key;
use crate::words::limiter::Limiter;

/// How long nothing is subscribed after a refusal, at first and at most: each trial costs a connection.
const REFUSED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// A longer linger is meant as "for ever", which no clock can express.
const LONGEST_LINGER: Duration = Duration::from_hours(24);

/// Who listens to what.
#[derive(Debug)]
pub(super) struct Subscriber {
    pub(super) line: Arc<Line>,
    pub(super) linger: Duration,
    /// Rings when there is something to subscribe, or to forget sooner than was thought.
    pub(super) bell: Notify,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) registry: Registry,
    /// Whether what is confirmed is confirmed on the present connection.
    pub(super) sound: bool,
    pub(super) refused_until: Option<Instant>,
    /// How it was refused last.
    refusal: Fault,
    next_refusal: Duration,
    /// Anybody who may publish can send another key's message, as often as he likes.
    distrust: Limiter,
}

impl Subscriber {
    /// A subscriber whose channels stay for `linger` after their last listener.
    pub(super) fn new(line: Arc<Line>, linger: Duration) -> Self {
        Self {
            line,
            linger: linger.min(LONGEST_LINGER),
            bell: Notify::new(),
            state: Mutex::new(State {
                registry: Registry::default(),
                sound: false,
                refused_until: None,
                refusal: Fault::Refused,
                next_refusal: REFUSED[0],
                distrust: Limiter::default(),
            }),
        }
    }

    /// Starts the tasks that work with one client.
    pub(super) fn man(self: &Arc<Self>, client: &Client) -> Vec<Task> {
        let hearing = Arc::clone(self).hear(client.clone(), client.message_rx());
        let conversation = Conversation::new(Arc::clone(self), client.clone());
        vec![Task::spawn(hearing), conversation.spawn()]
    }

    /// An ear on a channel that is subscribed already and sound.
    pub(super) fn join_confirmed(&self, name: &str) -> Option<Ear> {
        if !self.line.is_connected() {
            return None;
        }
        let mut state = self.state();
        state.sound.then(|| state.registry.join_confirmed(name))?
    }

    /// An ear on a channel, and what tells it when the server has confirmed the subscription.
    pub(super) fn join(&self, name: &str, key: &Key) -> Result<(Ear, Confirmation), Fault> {
        let mut state = self.state();
        if state.is_refused(now()) {
            return Err(state.refusal);
        }
        if !self.line.is_connected() {
            return Err(Fault::Disconnected);
        }
        let joined = state.registry.join(name, key);
        self.bell.notify_one();
        Ok(joined)
    }

    pub(super) fn leave(&self, name: &str, listener: u64) {
        let mut state = self.state();
        if state.registry.has(name) && state.registry.leave(name, listener, now()) {
            self.bell.notify_one();
        }
    }

    /// Gives away the channels that `leaves` says.
    pub(super) fn release(&self, leaves: impl Fn(&str) -> bool) -> Vec<Moving> {
        let mut state = self.state();
        let channels = state.registry.release(leaves);
        if state.registry.has_left() {
            self.bell.notify_one();
        }
        channels
    }

    /// Takes in a channel of another server.
    pub(super) fn adopt(&self, channel: Moving) {
        self.state().registry.adopt(channel);
        self.bell.notify_one();
    }

    /// How many channels are subscribed or about to be.
    pub(super) fn len(&self) -> usize {
        self.state().registry.len()
    }

    /// Whether a channel is among them.
    pub(super) fn has(&self, name: &str) -> bool {
        self.state().registry.has(name)
    }

    /// Whether messages are heard.
    pub(super) fn is_sound(&self) -> bool {
        self.line.is_connected() && self.state().sound
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn hear(self: Arc<Self>, client: Client, mut messages: Receiver<Message>) {
        loop {
            match messages.recv().await {
                Ok(message) => self.pass_on(&client, &message.channel, message.value),
                Err(RecvError::Lagged(_)) => self.state().registry.tell_gap(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn pass_on(&self, client: &Client, channel: &str, payload: Value) {
        let payload = match payload {
            Value::Bytes(bytes) => bytes,
            Value::String(text) => text.into_inner(),
            _ => Bytes::new(),
        };
        if self.hear_of_another(channel, &payload) {
            self.line.distrust(client);
        }
    }

    /// Whether a message was another key's, and the connection is to be given up because of it.
    ///
    /// None is passed on, and each is counted. The first costs a connection at once, and the next one not for a while:
    /// a connection made anew by then would be no better. Replies that are shifted need no message to be noticed, since
    /// each beat of the probe is told by its own words.
    fn hear_of_another(&self, channel: &str, payload: &Bytes) -> bool {
        let mut state = self.state();
        if state.registry.hear(channel, payload) != Heard::OtherKey {
            return false;
        }
        let gives_up = state.distrust.admit(now()).is_some();
        if !gives_up {
            self.line.vitals.note_misrouted();
        }
        gives_up
    }
}

impl State {
    /// Whether the server has refused a subscription a moment ago.
    pub(super) fn is_refused(&self, now: Instant) -> bool {
        self.refused_until.is_some_and(|until| now < until)
    }

    pub(super) fn note_refusal(&mut self, refusal: Fault, now: Instant) {
        self.refusal = refusal;
        self.refused_until = Some(now + self.next_refusal);
        self.next_refusal = (2 * self.next_refusal).min(REFUSED[1]);
    }

    pub(super) fn forget_refusal(&mut self) {
        self.refused_until = None;
        self.next_refusal = REFUSED[0];
    }
}

#[cfg(test)]
mod tests {
    use fred::types::MessageKind;
    use fred::types::config::Server;

    use super::*;
    use crate::backend::redis::connect::Address;
    use crate::backend::redis::health::Vitals;
    use crate::backend::redis::profile::Profile;
    use crate::format::message::Message as Told;
    use crate::ports::coordinator::Notice;
    use crate::words::token::Token;

    /// What the client throws away may have been anybody's.
    #[tokio::test]
    async fn messages_that_there_was_no_room_for_are_a_gap_to_everybody_who_listens() {
        let address = Address::parse("redis://h").unwrap();
        let profile = Profile::new(address, Duration::from_millis(250)).unwrap();
        let client = profile.client(2);
        let line = Line::new(profile, Arc::new(Vitals::default()), 2);
        let subscriber = Arc::new(Subscriber::new(Arc::new(line), Duration::ZERO));
        let keys = [1, 2].map(|number| Key::new("shop", &[&number]));
        let mut registry = std::mem::take(&mut subscriber.state().registry);
        let mut ears =
            ["c", "d"].map(|name| registry.join(name, &keys[usize::from(name == "d")]).0.1);
        let names = registry.take_wanted();
        registry.answer(&names, Ok(()), now());
        subscriber.state().registry = registry;

        let (send, messages) = tokio::sync::broadcast::channel(2);
        let told = Told::encode_abandoned(&keys[0], Token::random(), false);
        for _ in 0..5 {
            let message = Message {
                channel: "c".into(),
                value: Value::Bytes(told.clone()),
                kind: MessageKind::Message,
                server: Server::new("h", 6379),
            };
            send.send(message).unwrap();
        }
        drop(send);
        Arc::clone(&subscriber).hear(client, messages).await;
        let heard = ears.each_mut().map(|ear| {
            let notices = std::iter::from_fn(|| ear.try_recv().ok());
            let gaps = notices.map(|notice| matches!(notice, Notice::Gap));
            gaps.collect::<Vec<_>>()
        });
        assert_eq!(heard, [vec![true, false, false], vec![true]]);
    }
}
