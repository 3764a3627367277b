//! The notify channels of an in-memory coordinator: who listens on which key.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::format::message::Message;
use crate::ports::coordinator::Notice;
use crate::words::key::Key;

/// The channels somebody listens on. One without a listener is gone at once: there is no
/// subscription behind it whose renewal would cost anything, so none lingers.
#[derive(Default)]
pub(super) struct Channels {
    ears: HashMap<Key, Vec<Ear>>,
    next: u64,
}

struct Ear {
    id: u64,
    notices: mpsc::UnboundedSender<Notice>,
}

impl Channels {
    /// Another listener on `key`, and the number by which it leaves again.
    pub(super) fn join(&mut self, key: &Key) -> (u64, mpsc::UnboundedReceiver<Notice>) {
        let id = self.next;
        self.next += 1;
        let (notices, heard) = mpsc::unbounded_channel();
        let ear = Ear { id, notices };
        self.ears.entry(key.clone()).or_default().push(ear);
        (id, heard)
    }

    pub(super) fn leave(&mut self, key: &Key, id: u64) {
        if let Some(ears) = self.ears.get_mut(key) {
            ears.retain(|ear| ear.id != id);
            if ears.is_empty() {
                self.ears.remove(key);
            }
        }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.ears.contains_key(key)
    }

    pub(super) fn len(&self) -> usize {
        self.ears.len()
    }

    /// Delivers the bytes of a message the way a subscriber would: read first, and a message that
    /// cannot be read may have been any.
    pub(super) fn publish(&self, key: &Key, message: &Bytes) {
        let Some(ears) = self.ears.get(key) else {
            return;
        };
        let notice = Message::decode(key, message).map_or(Notice::Gap, Notice::Message);
        for ear in ears {
            // A listener that is being dropped at this moment hears nothing more.
            let _ = ear.notices.send(notice.clone());
        }
    }
}
