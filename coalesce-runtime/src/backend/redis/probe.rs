//! The probe: notices a connection that is open and dead, which nothing else does under load.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::interfaces::{ClientLike as _, EventInterface as _};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::client::{Line, slot_of_subscriptions};
use super::clock::Clock;
use super::keeper::Task;
use crate::words::fault::Fault;

/// How often a line is tried.
const BEAT: Duration = Duration::from_millis(250);

/// This many unanswered beats in a row mean that the connection is dead.
const MISSES: u8 = 2;

/// A node of a cluster that misses this many keeps its connection no longer, though every other node's
/// goes with it: looking at who serves what leaves a connection alone that only looks healthy.
const LAST_MISSES: u8 = 24;

/// A client that says for so many beats that it is not connected is given up: one was seen that said so
/// for ever, beside a connection of its own that was up, after a primary had died under one sentinel.
/// Less would end what a client does at its own pace, which is slow while some of the nodes hang.
const PATIENT_BEATS: u8 = 12;

/// Between two looks at who serves what in a cluster.
const REFRESH_REST: Duration = Duration::from_millis(250);

/// The clock is asked for again after this many beats: drift and a clock that was set are noticed
/// in a process that only ever reads.
const CLOCK_BEATS: u32 = 40;

/// Which node of a cluster is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Each in turn, by chance.
    Anywhere,
    /// The one with the subscriptions.
    Subscriptions,
}

/// Tries one client for as long as it lives.
pub(super) struct Probe {
    line: Arc<Line>,
    client: Client,
    place: Where,
    clock: Option<Arc<Clock>>,
    misses: u8,
    /// Beats in a row for which the client was not connected, by its own account.
    adrift: u8,
    /// Whether the last beat was answered.
    up: bool,
    beats_to_clock: u32,
    refreshing: Option<Task>,
}

impl Probe {
    /// A probe that also keeps `clock` right, when one is given.
    pub(super) fn new(
        line: Arc<Line>,
        client: Client,
        place: Where,
        clock: Option<Arc<Clock>>,
    ) -> Self {
        Self {
            line,
            client,
            place,
            clock,
            misses: 0,
            adrift: 0,
            up: false,
            beats_to_clock: 0,
            refreshing: None,
        }
    }

    /// Starts it.
    pub(super) fn spawn(mut self) -> Task {
        let mut arrivals = self.client.reconnect_rx();
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Task::spawn(async move {
            let mut slot = self.next_slot();
            loop {
                // A new connection is tried at once: what comes back with it should not wait for a beat.
                let arrived = tokio::select! {
                    _ = beats.tick() => false,
                    Ok(_) = arrivals.recv() => true,
                };
                self.up &= !arrived;
                let answer = self.line.ping(&self.client, slot, arrived).await;
                self.judge(answer).await;
                if self.misses == 0 {
                    slot = self.next_slot();
                }
            }
        })
    }

    async fn judge(&mut self, answer: Result<(), Fault>) {
        match answer {
            // A server that does not let us PING is there all the same.
            Ok(()) | Err(Fault::Refused) => self.answered().await,
            Err(Fault::Timeout) => self.missed(),
            Err(Fault::Garbled) => self.line.distrust(&self.client),
            // The client knows that it is not connected, and is at it.
            Err(_) => self.wait_for_the_client(),
        }
    }

    fn wait_for_the_client(&mut self) {
        let adrift = self.adrift + 1;
        self.miss_nothing(false);
        self.adrift = adrift;
        if adrift >= PATIENT_BEATS {
            self.adrift = 0;
            self.line.reset(&self.client);
        }
    }

    async fn answered(&mut self) {
        let arrived = !self.up;
        self.miss_nothing(true);
        if arrived {
            self.line.breakers.allow_trials();
            self.beats_to_clock = 0;
        }
        self.look_at_clock(arrived).await;
    }

    fn missed(&mut self) {
        self.up = false;
        self.adrift = 0;
        self.misses = self.misses.saturating_add(1);
        let patient = self.line.profile.is_clustered() && self.place == Where::Anywhere;
        if self.misses >= if patient { LAST_MISSES } else { MISSES } {
            self.misses = 0;
            self.line.reset(&self.client);
        } else if self.misses >= MISSES {
            self.refresh();
        }
    }

    fn miss_nothing(&mut self, up: bool) {
        self.up = up;
        self.misses = 0;
        self.adrift = 0;
    }

    /// One node of a cluster is silent. The connections to the others are kept: the client only looks
    /// again at who serves what, since a replica may have taken over.
    fn refresh(&mut self) {
        if self.refreshing.as_ref().is_some_and(Task::is_running) {
            return;
        }
        let client = self.client.clone();
        self.refreshing = Some(Task::spawn(async move {
            // One that fails is followed by the next misses.
            let _ = client.force_reconnection().await;
            // The client serves nobody while it looks, so it gets a rest from looking.
            sleep(REFRESH_REST).await;
        }));
    }

    async fn look_at_clock(&mut self, arrived: bool) {
        let Some(clock) = &self.clock else { return };
        if let Some(left) = self.beats_to_clock.checked_sub(1) {
            self.beats_to_clock = left;
        } else if let Ok((time, sent)) = self.line.time(&self.client).await {
            self.beats_to_clock = CLOCK_BEATS;
            if arrived {
                clock.relearn(time, sent);
            } else {
                clock.refine(time, sent);
            }
        }
    }

    /// Where the next beat goes, as long as none is missed: after a miss the same node is tried again.
    fn next_slot(&self) -> u16 {
        match self.place {
            Where::Anywhere => fastrand::u16(..16_384),
            Where::Subscriptions => slot_of_subscriptions(&self.client),
        }
    }
}
