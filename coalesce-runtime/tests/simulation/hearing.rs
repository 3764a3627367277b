//! What a simulated pod hears: one subscription per key and pod, over which messages come late, or not at all.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::coordination::{Interest, Listener, Message, Notice};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::hub::Hub;

/// A subscription lives on for this long behind its last listener.
pub const LINGER: Duration = Duration::from_secs(10);

/// The subscriptions of one pod. `None` is the channel of the kill switch.
#[derive(Debug, Default)]
pub struct Hearing {
    subscriptions: HashMap<Option<usize>, Subscription>,
    next: u64,
}

#[derive(Debug, Default)]
struct Subscription {
    ears: Vec<(u64, UnboundedSender<Notice>)>,
    left_at: Option<Instant>,
    /// When the last message on its way arrives: none overtakes another.
    last: Option<Instant>,
}

impl Hearing {
    /// Subscribes to a key, if the pod is not yet, and opens an ear.
    pub fn listen(&mut self, hub: &Arc<Hub>, pod: usize, key: Option<usize>) -> Listener {
        self.next += 1;
        let (id, (notices, heard)) = (self.next, unbounded_channel());
        let subscription = self.subscriptions.entry(key).or_default();
        subscription.ears.push((id, notices));
        subscription.left_at = None;
        let hub: Weak<Hub> = Arc::downgrade(hub);
        let farewell = move || {
            if let Some(hub) = hub.upgrade() {
                hub.hearing(pod).leave(key, id);
            }
        };
        Listener::new(heard, Interest::new(farewell))
    }

    fn leave(&mut self, key: Option<usize>, id: u64) {
        if let Some(subscription) = self.subscriptions.get_mut(&key) {
            subscription.ears.retain(|(ear, _)| *ear != id);
            if subscription.ears.is_empty() {
                subscription.left_at = Some(Instant::now());
            }
        }
    }

    /// Whether there is a subscription, a lingering one included.
    pub fn hears(&mut self, key: Option<usize>) -> bool {
        self.forget();
        self.subscriptions.contains_key(&key)
    }

    /// Subscriptions to keys.
    pub fn len(&mut self) -> usize {
        self.forget();
        self.subscriptions.keys().flatten().count()
    }

    fn forget(&mut self) {
        let now = Instant::now();
        self.subscriptions
            .retain(|_, subscription| subscription.left_at.is_none_or(|left| now < left + LINGER));
    }

    /// When a message that needs `delay` arrives: not before those ahead of it.
    pub fn arrival(&mut self, key: Option<usize>, delay: Duration) -> Instant {
        let subscription = self.subscriptions.entry(key).or_default();
        let now = Instant::now();
        let behind = subscription.last.filter(|last| *last > now);
        let arrival = (now + delay).max(behind.map_or(now, |last| last + Duration::from_millis(1)));
        subscription.last = Some(arrival);
        arrival
    }

    /// A message arrives.
    pub fn hear(&self, key: Option<usize>, notice: &Notice) {
        for (_, ear) in self
            .subscriptions
            .get(&key)
            .into_iter()
            .flat_map(|heard| &heard.ears)
        {
            // An ear that is being dropped at this moment hears nothing more.
            let _ = ear.send(notice.clone());
        }
    }

    /// The connection was lost and is there again.
    pub fn gap(&self) {
        for key in self.subscriptions.keys() {
            self.hear(*key, &Notice::Gap);
        }
    }

    /// The pod is dead.
    pub fn stop(&mut self) {
        self.subscriptions.clear();
    }
}

impl Hub {
    /// Brings the bytes of a message to every pod that listens.
    pub fn publish(self: &Arc<Self>, key: Option<usize>, message: &Bytes) {
        let decoded = Message::decode(self.key(key), message);
        let notice = decoded.map_or(Notice::Gap, Notice::Message);
        for pod in 0..self.pods() {
            if !self.is_dead(pod) && self.hearing(pod).hears(key) {
                self.bring(pod, key, notice.clone());
            }
        }
    }

    fn bring(self: &Arc<Self>, pod: usize, key: Option<usize>, notice: Notice) {
        let mut dice = self.dice(pod, key, "message");
        let weather = self.weather();
        if weather.outage(pod, self.elapsed()).is_some() {
            return self.note(pod, key, "message cut off", None);
        }
        if dice.happens(weather.notice_lost) {
            return self.note(pod, key, "message lost", None);
        }
        let (notice, delay) = if dice.happens(weather.notice_gap) {
            self.note(pod, key, "message lost with a gap", None);
            (Notice::Gap, dice.span(1, 500))
        } else if dice.happens(weather.notice_late) {
            self.note(pod, key, "message late", None);
            (notice, dice.span(1, 2_000))
        } else {
            (notice, dice.span(0, weather.latency))
        };
        let arrival = self.hearing(pod).arrival(key, delay);
        if arrival == Instant::now() {
            return self.hearing(pod).hear(key, &notice);
        }
        let hub = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep_until(arrival).await;
            hub.hearing(pod).hear(key, &notice);
        });
    }
}
