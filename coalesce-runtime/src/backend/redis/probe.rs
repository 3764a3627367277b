//! The probe: notices a connection that is open and dead, which nothing else does under load.

use std::mem::replace;
use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::interfaces::EventInterface as _;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

use super::client::Line;
use super::clock::Clock;
use super::keeper::Task;
use crate::words::fault::Fault;

/// How often a line is tried.
const BEAT: Duration = Duration::from_millis(250);

/// This many unanswered beats in a row mean that the connection is dead.
const MISSES: u8 = 2;

/// A client that says for so many beats that it is not connected is given up: one was seen that said so
/// for ever, beside a connection of its own that was up, after a primary had died under one sentinel.
/// Less would end what a client does at its own pace, which is slow while some of the sentinels hang.
const PATIENT_BEATS: u8 = 12;

/// The clock is asked for again after this many beats: drift and a clock that was set are noticed
/// in a process that only ever reads.
const CLOCK_BEATS: u32 = 40;

/// Tries one client for as long as it lives.
pub(super) struct Probe {
    line: Arc<Line>,
    client: Client,
    clock: Option<Arc<Clock>>,
    /// Rung when a connection has been made: it may be to another server than before.
    doubt: Arc<Notify>,
    misses: u8,
    /// Beats in a row for which the client was not connected, by its own account.
    adrift: u8,
    /// Whether the last beat was answered.
    up: bool,
    /// Whether this connection has answered.
    met: bool,
    beats_to_clock: u32,
}

impl Probe {
    /// A probe that also keeps `clock` right, when one is given.
    pub(super) fn new(
        line: Arc<Line>,
        client: Client,
        clock: Option<Arc<Clock>>,
        doubt: Arc<Notify>,
    ) -> Self {
        Self {
            line,
            client,
            clock,
            doubt,
            misses: 0,
            adrift: 0,
            up: false,
            met: false,
            beats_to_clock: 0,
        }
    }

    /// Starts it.
    pub(super) fn spawn(mut self) -> Task {
        let mut arrivals = self.client.reconnect_rx();
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Task::spawn(async move {
            loop {
                // A new connection is tried at once: what comes back with it should not wait for a beat.
                let arrived = tokio::select! {
                    _ = beats.tick() => false,
                    Ok(_) = arrivals.recv() => true,
                };
                if arrived {
                    self.arrived();
                }
                let answer = self.line.ping(&self.client, arrived).await;
                self.judge(answer).await;
            }
        })
    }

    /// There is another connection.
    fn arrived(&mut self) {
        self.up = false;
        self.met = false;
    }

    async fn judge(&mut self, answer: Result<(), Fault>) {
        match answer {
            // A server that does not let us PING is there all the same.
            Ok(()) => self.answered().await,
            Err(fault) if fault.is_a_refusal() => self.answered().await,
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
            self.line.breaker.allow_trial();
            self.beats_to_clock = 0;
        }
        // One that was only slow leads where it did.
        if !replace(&mut self.met, true) {
            self.doubt.notify_one();
        }
        self.look_at_clock(arrived).await;
    }

    fn missed(&mut self) {
        self.up = false;
        self.adrift = 0;
        self.misses = self.misses.saturating_add(1);
        if self.misses >= MISSES {
            self.misses = 0;
            self.line.reset(&self.client);
        }
    }

    fn miss_nothing(&mut self, up: bool) {
        self.up = up;
        self.misses = 0;
        self.adrift = 0;
    }

    async fn look_at_clock(&mut self, arrived: bool) {
        let Some(clock) = &self.clock else { return };
        if let Some(left) = self.beats_to_clock.checked_sub(1) {
            self.beats_to_clock = left;
        } else if let Ok((time, sent)) = self.line.probe_time(&self.client).await {
            self.beats_to_clock = CLOCK_BEATS;
            if arrived {
                clock.relearn(time, sent);
            } else {
                clock.refine(time, sent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::super::connect::Address;
    use super::super::profile::Profile;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_rings_with_its_first_answer_and_one_that_was_only_slow_does_not() {
        let address = Address::parse("redis://h").unwrap();
        let profile = Profile::new(address, BEAT).unwrap();
        let line = Arc::new(Line::new(profile, Arc::default(), 1));
        let (client, doubt) = (line.client(), Arc::<Notify>::default());
        let mut probe = Probe::new(line, client, None, Arc::clone(&doubt));
        let rung = async || timeout(BEAT, doubt.notified()).await.is_ok();
        for _arrival in 0..2 {
            probe.judge(Err(Fault::Timeout)).await;
            assert!(!rung().await);
            probe.judge(Ok(())).await;
            assert!(rung().await);
            for answer in [Ok(()), Err(Fault::Timeout), Ok(()), Err(Fault::Refused)] {
                probe.judge(answer).await;
                assert!(!rung().await, "{answer:?}");
            }
            probe.arrived();
        }
    }
}
