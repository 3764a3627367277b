//! Who listens where: each channel is subscribed at the server that answers for its slot.
//!
//! A message could be heard at any node of a cluster. From its own it comes without a way through another.

use std::sync::{Arc, Weak};

use fred::util::redis_keyslot;
use tokio::time::timeout;

use super::nodes::{Map, Nodes};
use super::registry::Ear;
use crate::ports::coordinator::{Interest, Listener};
use crate::words::fault::Fault;
use crate::words::key::Key;

impl Nodes {
    /// A listener on a channel that is subscribed already and sound.
    pub(super) fn listening(self: &Arc<Self>, name: &str) -> Option<Listener> {
        let node = self.of(slot_of(name)).ok()?;
        let ear = node.subscriber.join_confirmed(name)?;
        Some(self.listener(name, ear))
    }

    /// A listener on a channel; the answer comes when the server has confirmed the subscription.
    pub(super) async fn listen(self: &Arc<Self>, name: &str, key: &Key) -> Result<Listener, Fault> {
        if let Some(listener) = self.listening(name) {
            return Ok(listener);
        }
        let (ear, confirmation) = self.of(slot_of(name))?.subscriber.join(name, key)?;
        let listener = self.listener(name, ear);
        match timeout(self.profile.deadline(), confirmation).await {
            Ok(Ok(answer)) => answer.map(|()| listener),
            Ok(Err(_)) => Err(Fault::Disconnected),
            Err(_) => Err(Fault::Timeout),
        }
    }

    fn listener(self: &Arc<Self>, name: &str, (number, notices): Ear) -> Listener {
        let (nodes, name) = (Arc::downgrade(self), name.to_owned());
        let farewell = move || {
            let nodes = Weak::upgrade(&nodes);
            nodes.inspect(|nodes| nodes.leave(&name, number));
        };
        Listener::new(notices, Interest::new(farewell))
    }

    /// The channel may have moved since, so each is told.
    fn leave(&self, name: &str, listener: u64) {
        for node in self.map().nodes.values() {
            node.subscriber.leave(name, listener);
        }
    }

    /// How many channels are subscribed or about to be.
    pub(super) fn channels(&self) -> usize {
        let nodes = self.all();
        nodes.iter().map(|node| node.subscriber.len()).sum()
    }

    /// Whether a channel is among them.
    pub(super) fn has_channel(&self, name: &str) -> bool {
        let node = self.of(slot_of(name));
        node.is_ok_and(|node| node.subscriber.has(name))
    }
}

impl Map {
    /// Takes every channel to the node that serves its slot. Where nobody does, it stays as long as its node.
    pub(super) fn rehome(&mut self) {
        let mut moving = std::mem::take(&mut self.homeless);
        for node in self.nodes.values() {
            let leaves = |name: &str| match self.of(slot_of(name)) {
                Some(home) => !Arc::ptr_eq(home, node),
                None => !self.table.serves(&node.place),
            };
            moving.extend(node.subscriber.release(leaves));
        }
        for channel in moving {
            match self.of(slot_of(channel.name())) {
                Some(home) => home.subscriber.adopt(channel),
                None => self.homeless.push(channel),
            }
        }
    }
}

fn slot_of(name: &str) -> u16 {
    redis_keyslot(name.as_bytes())
}
