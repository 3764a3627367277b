//! Subscribing: the conversation with the server about channels, one sentence at a time.
//!
//! The client answers SUBSCRIBE before the server does, and takes the server's refusal for the reply to
//! the command behind it. So a PING leaves with each sentence: its own answer confirms it, any other
//! answer shows the refusal, and then the client is given up, since its replies are shifted.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::interfaces::{ClientLike as _, EventInterface as _};
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{sleep, sleep_until};

use super::client::Sentence;
use super::keeper::Task;
use super::subscriber::Subscriber;
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;

/// Between two batches of UNSUBSCRIBE.
const FAREWELLS: Duration = Duration::from_millis(100);

/// How often to look whether a connection that is being made is there, should its event be missed.
const ARRIVAL: Duration = Duration::from_millis(50);

/// What one client has to say about channels. Being one task, it never contradicts itself.
pub(super) struct Conversation {
    subscriber: Arc<Subscriber>,
    client: Client,
    /// Whether a connection is there on which nothing is subscribed yet.
    arrived: bool,
    last_farewell: Instant,
}

impl Conversation {
    pub(super) fn new(subscriber: Arc<Subscriber>, client: Client) -> Self {
        Self {
            subscriber,
            client,
            arrived: false,
            last_farewell: now(),
        }
    }

    /// Starts it. It ends with its client.
    pub(super) fn spawn(mut self) -> Task {
        let mut arrivals = self.client.reconnect_rx();
        self.lose();
        Task::spawn(async move {
            loop {
                let (bell, alarm) = (&self.subscriber.bell, self.next_alarm());
                let Some(arrived) = news(&mut arrivals, bell, alarm).await else {
                    return;
                };
                self.arrived |= arrived;
                self.speak().await;
            }
        })
    }

    /// When there is something to do although nothing happens.
    fn next_alarm(&self) -> Option<Instant> {
        let state = self.subscriber.state();
        if self.arrived {
            return state.refused_until;
        }
        let farewell = state.registry.next_farewell(self.subscriber.linger)?;
        state
            .sound
            .then(|| farewell.max(self.last_farewell + FAREWELLS))
    }

    async fn speak(&mut self) {
        if self.subscriber.state().is_refused(now()) {
            return;
        }
        if self.arrived {
            self.subscribe_everything().await;
        } else if self.subscriber.state().sound {
            // A failure has been told to those who asked, and the client is given up.
            let _ = self.subscribe_wanted().await;
            self.unsubscribe_left().await;
            self.unsubscribe_overdue().await;
        }
    }

    async fn subscribe_everything(&mut self) {
        self.lose();
        // The pause is over, and must not ring again.
        self.subscriber.state().refused_until = None;
        self.connected().await;
        let answer = self.subscribe_wanted().await;
        if answer.is_ok() {
            self.arrived = false;
            let mut state = self.subscriber.state();
            state.forget_refusal();
            state.sound = true;
            // Only now: who looks at the state again must not miss what comes while it looks.
            state.registry.tell_gap();
        }
    }

    async fn subscribe_wanted(&mut self) -> Result<(), Fault> {
        let names = self.subscriber.state().registry.take_wanted();
        let answer = self.say(&names, Sentence::Subscribe).await;
        let mut state = self.subscriber.state();
        state.registry.answer(&names, answer, now());
        answer
    }

    /// What another server answers for now is heard there.
    async fn unsubscribe_left(&mut self) {
        let names = self.subscriber.state().registry.take_left();
        let _ = self.say(&names, Sentence::Unsubscribe).await;
    }

    async fn unsubscribe_overdue(&mut self) {
        let due = self.next_alarm().is_some_and(|alarm| alarm <= now());
        if !due {
            return;
        }
        let linger = self.subscriber.linger;
        let names = self.subscriber.state().registry.take_overdue(now(), linger);
        self.last_farewell = now();
        // Should it fail, the client is given up, and nobody asks for these channels again.
        let _ = self.say(&names, Sentence::Unsubscribe).await;
    }

    /// Says one sentence and waits until the server has taken it in. With nothing to say, a new
    /// connection is tried all the same.
    async fn say(&mut self, names: &[String], sentence: Sentence) -> Result<(), Fault> {
        if names.is_empty() && !self.arrived {
            return Ok(());
        }
        let line = &self.subscriber.line;
        let answer = line.say(&self.client, sentence, names).await;
        answer.inspect_err(|fault| self.fail(*fault))
    }

    /// The connection is not to be trusted: a refusal may have shifted its replies, and what was
    /// said without an answer may or may not have been heard.
    fn fail(&self, fault: Fault) {
        let line = &self.subscriber.line;
        line.vitals.note_fault(fault);
        let mut state = self.subscriber.state();
        state.sound = false;
        if fault.is_a_refusal() {
            state.note_refusal(fault, now());
        }
        // A client that is not connected is at it by itself.
        if line.is_connected() {
            line.reset(&self.client);
        }
    }

    /// Nothing is subscribed any more.
    fn lose(&self) {
        let mut state = self.subscriber.state();
        state.sound = false;
        state.registry.forget();
    }

    /// The event of a connection comes a little before the connection can be used.
    async fn connected(&self) {
        while !self.subscriber.line.is_connected() {
            tokio::select! {
                _ = self.client.wait_for_connect() => {}
                () = sleep(ARRIVAL) => {}
            }
        }
    }
}

/// Waits until there is something to do. Whether a connection has arrived; none when no more will.
async fn news<T: Clone>(
    arrivals: &mut Receiver<T>,
    bell: &Notify,
    alarm: Option<Instant>,
) -> Option<bool> {
    let arrived = tokio::select! {
        arrival = arrivals.recv() => match arrival {
            Err(RecvError::Closed) => return None,
            _ => true,
        },
        () = bell.notified() => false,
        () = until(alarm) => false,
    };
    // One that comes with something else is not to be lost.
    Some(drained(arrivals) || arrived)
}

/// Takes what has come at once, which is one reason to subscribe. Whether there was any.
fn drained<T: Clone>(events: &mut Receiver<T>) -> bool {
    let mut any = false;
    while !matches!(
        events.try_recv(),
        Err(TryRecvError::Empty | TryRecvError::Closed)
    ) {
        any = true;
    }
    any
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_arrival_is_not_lost_to_what_comes_with_it() {
        let (send, mut arrivals) = tokio::sync::broadcast::channel(2);
        let bell = Notify::new();
        // Which of them is noticed is chance.
        for round in 0..100 {
            // Sometimes more than there is room for.
            for _ in 0..=round % 5 {
                send.send(()).unwrap();
            }
            bell.notify_one();
            let alarm = now();
            assert_eq!(news(&mut arrivals, &bell, Some(alarm)).await, Some(true));
            assert!(arrivals.is_empty());
            bell.notify_one();
            assert_eq!(news(&mut arrivals, &bell, None).await, Some(false));
        }
        assert_eq!(news(&mut arrivals, &bell, Some(now())).await, Some(false));
        drop(send);
        assert_eq!(news(&mut arrivals, &bell, None).await, None);
    }
}
