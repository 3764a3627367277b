//! The driver: one task per entry asks, follows or leads for all callers of a key in this process.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::chase::{Chase, hear};
use super::core::{Core, Counted};
use super::entry::{Entry, Lane};
use super::fold::Fold;
use super::heartbeat::Hold;
use super::leader::LastWord;
use super::settlement::{Outcome, Settlement, Verdict};
use crate::engine::follow::{Arrived, Follower, Step};
use crate::engine::lease::lease_at;
use crate::format::envelope::{Seen, Status};
use crate::format::message::Message;
use crate::format::traceparent::Traceparent;
use crate::ports::coordinator::Notice;
use crate::ports::event::{Cause, Incident};
use crate::words::clock::now;
use crate::words::fault::Fault;
use crate::words::policy::{OnRedisError, Policy};
use crate::words::token::Token;

/// A driver's hold on its entry. Dropped before it settled, it sends those who wait to start again.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(super) core: Arc<Core>,
    pub(super) policy: Arc<Policy>,
    pub(super) entry: Arc<Entry>,
    /// Why the body would run.
    pub(super) cause: Cause,
    /// The trace that it asks in.
    pub(super) trace: Option<Traceparent>,
    settled: bool,
    _working: Counted,
}

impl Driver {
    pub(crate) fn new(
        core: &Arc<Core>,
        policy: &Arc<Policy>,
        entry: &Arc<Entry>,
        cause: Cause,
        trace: Option<Traceparent>,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            policy: Arc::clone(policy),
            entry: Arc::clone(entry),
            cause,
            trace,
            settled: false,
            _working: core.drivers.one_more(),
        }
    }

    /// Asks for the key, then leads or follows. `seen` is the state that is not wanted; `None`:
    /// whatever is there.
    pub(crate) async fn share(mut self, seen: Option<Seen>) {
        let has_looked = seen.is_some();
        let mut chase = self.chase(seen);
        let mut step = chase.follower.ask();
        loop {
            if chase.follower.met_unreadable() {
                self.core.tell(self.entry.key(), Incident::Undecodable);
            }
            if !matches!(step, Step::Lead { .. } | Step::GiveUp(_)) {
                chase.asking = None;
            }
            step = match step {
                Step::Ask(ask) => {
                    chase.asking = Some(self.core.asking.one_more());
                    if self.core.hands_over() {
                        step = Step::GiveUp(Fault::Disconnected);
                        continue;
                    }
                    chase.asked_at = now();
                    chase.polled = std::mem::take(&mut chase.poll_is_due);
                    let answer = self.core.coordinator.begin(self.entry.key(), &ask).await;
                    match answer {
                        Ok(answer) => {
                            chase.granted = None;
                            chase.silent_since = None;
                            let next = chase.follower.answered(answer, fastrand::f64());
                            self.entry.is_led_in(chase.follower.led_in());
                            if chase.follower.met_fence() {
                                let until = Some(chase.followed_at);
                                self.core.fold.fence(&self.entry, until);
                            }
                            chase.followed_at = chase.asked_at;
                            next
                        }
                        Err(fault) => {
                            let asked_at = chase.asked_at;
                            if fault.may_have_been_executed() {
                                self.note_grant(&mut chase);
                            }
                            chase.failed(fault, asked_at)
                        }
                    }
                }
                Step::Look => {
                    let asked_at = now();
                    match self.core.coordinator.read(self.entry.key()).await {
                        Ok(state) => {
                            chase.silent_since = None;
                            chase.follower.looked(state.as_ref())
                        }
                        Err(fault) => chase.failed(fault, asked_at),
                    }
                }
                Step::Wait(pause) => {
                    chase.poll_at = now() + pause;
                    self.listen(&mut chase).await
                }
                Step::AskAgainIn(pause) => {
                    chase.poll_at = now() + pause;
                    Step::KeepWaiting
                }
                Step::KeepWaiting => match self.wait(&mut chase).await {
                    Some(step) => step,
                    None => return self.leave(chase).await,
                },
                // Somebody else may be at it by now, which the same question tells.
                Step::Lead { .. } if chase.follower.may_be_gone(now() - chase.asked_at) => {
                    chase.follower.ask()
                }
                Step::Lead { seen, takeover } => {
                    if takeover {
                        self.cause = Cause::Takeover;
                    }
                    if self.cause == Cause::Takeover {
                        self.core.tell(self.entry.key(), Incident::Takeover);
                    }
                    let election = chase.election(seen);
                    let asking = chase.asking.take();
                    // Who leads listens to nobody: an ear left open would fill up.
                    drop(chase);
                    return self.lead(election, asking, None).await;
                }
                Step::Settle(arrived) => {
                    if has_looked && !chase.follower.has_followed() {
                        self.core.tell(self.entry.key(), Incident::DoubleCheckHit);
                    }
                    if chase.overslept(&arrived, self.core.coordinator.clock(self.entry.key())) {
                        self.core.tell(self.entry.key(), Incident::LostWakeUp);
                    }
                    self.arrived(arrived);
                    return self.leave(chase).await;
                }
                Step::StopTrying => {
                    self.settle(Settlement::for_all(Verdict::AbandonedForGood));
                    return self.leave(chase).await;
                }
                Step::GiveUp(fault) => {
                    return self.go_on_without(fault, chase.end()).await;
                }
            };
        }
    }

    /// What a call does when there is nobody to coordinate with. `granted`: the lock that it may have
    /// all the same.
    pub(crate) async fn go_on_without(mut self, fault: Fault, granted: Option<Hold>) {
        self.cause = Cause::FailOpen;
        match self.policy.on_redis_error {
            OnRedisError::Run => match self.run_beside(granted.is_some()) {
                Some(other) => self.give_way(Verdict::RunsHere(other), granted).await,
                None => {
                    // Without a coordinator as with one.
                    let pending = self.policy.clocks().pending();
                    self.run_solo(granted, pending).await;
                }
            },
            OnRedisError::Fail => self.give_way(Verdict::Unavailable(fault), granted).await,
        }
    }

    /// The run of this process that this one need not be beside of. A refresh by hand that may have been granted the lock
    /// can store what it brings, and what runs already may not: that is worth a run.
    fn run_beside(&self, may_store: bool) -> Option<Arc<Entry>> {
        if may_store && self.entry.lane == Lane::Requested {
            return None;
        }
        self.core.fold.runs_here_or_elsewhere(&self.entry)
    }

    /// Runs nothing, and leaves no lock behind that may have been granted.
    async fn give_way(&mut self, verdict: Verdict, granted: Option<Hold>) {
        self.settle(Settlement::for_all(verdict));
        if let Some(hold) = granted {
            self.insist(&hold, LastWord::GivesWay).await;
        }
    }

    /// The lock may hold this token though no answer said so.
    fn note_grant(&self, chase: &mut Chase) {
        let election = chase.election(Seen::NOTHING);
        // One token, one note: an older one goes first.
        chase.granted = None;
        chase.granted = Some(self.core.heartbeat.hold_perhaps(election, &self.entry));
    }

    fn chase(&self, seen: Option<Seen>) -> Chase {
        let token = Token::random();
        let settings = &self.core.settings;
        let pending = self.policy.clocks().pending();
        let lease = lease_at(Duration::ZERO, settings.lease, pending).unwrap_or(settings.lease);
        let key = self.entry.key().clone();
        // An ear that is open before the question needs no second look behind it.
        let ear = self.core.coordinator.listening(&key);
        let patience = self.core.coordinator.deadline().saturating_mul(2);
        let follower =
            Follower::new(key, token, lease, settings.poll, patience, seen).traced(self.trace);
        Chase {
            follower,
            token,
            ear,
            asking: None,
            asked_at: now(),
            followed_at: now(),
            poll_at: now(),
            granted: None,
            silent_since: None,
            poll_is_due: false,
            polled: false,
        }
    }

    /// Opens an ear if there is none yet, and then closes the gap between BEGIN and the subscription.
    async fn listen(&self, chase: &mut Chase) -> Step {
        if chase.ear.is_some() {
            return Step::KeepWaiting;
        }
        let asked_at = now();
        match self.core.coordinator.listen(self.entry.key()).await {
            Ok(ear) => {
                chase.ear = Some(ear);
                Step::Look
            }
            // Nothing will be heard; polls find the outcome, and the next one tries to listen again.
            Err(fault) => {
                if fault.may_have_been_executed() {
                    chase.silent_since = Some(asked_at);
                }
                Step::KeepWaiting
            }
        }
    }

    /// Waits for a notice or the poll; `None` when nobody waits for this entry any more.
    async fn wait(&self, chase: &mut Chase) -> Option<Step> {
        loop {
            tokio::select! {
                // In this order: what has come counts more than asking for it.
                biased;
                notice = hear(&mut chase.ear) => match notice {
                    Notice::Message(Message::Invalidated { at }) => {
                        let clock = self.core.coordinator.clock(self.entry.key());
                        let until = clock.surely_before(at);
                        self.core.fold.fence(&self.entry, until);
                    }
                    Notice::Message(message) => return Some(chase.follower.heard(message)),
                    Notice::Gap => return Some(chase.follower.missed()),
                },
                () = self.entry.emptied() => {
                    if self.core.fold.leave_if_empty(&self.entry) {
                        return None;
                    }
                }
                () = tokio::time::sleep_until(chase.poll_at) => {
                    chase.poll_is_due = true;
                    return Some(chase.follower.ask());
                }
            }
        }
    }

    /// Ends here, and leaves its entry where it is until that is dropped.
    pub(super) fn retire(mut self) -> Resting {
        self.settled = true;
        Resting {
            fold: Arc::downgrade(&self.core.fold),
            entry: Arc::clone(&self.entry),
        }
    }

    /// Goes without having led. A lock that was granted and never heard of must not be left behind.
    async fn leave(&self, chase: Chase) {
        if let Some(hold) = chase.end() {
            self.insist(&hold, LastWord::GivesWay).await;
        }
    }

    fn arrived(&mut self, arrived: Arrived) {
        let until = self
            .core
            .coordinator
            .clock(self.entry.key())
            .surely_before(arrived.for_arrivals_until);
        let verdict = match arrived.envelope.status {
            Status::TooLarge => match self.entry.lent(arrived.envelope.token.into()) {
                Some(spare) => Verdict::Outcome(spare),
                None => Verdict::GoAlone,
            },
            _ => Verdict::Outcome(Outcome::from(arrived.envelope)),
        };
        match until {
            Some(_) => self.settle(Settlement {
                verdict,
                for_arrivals_until: until,
            }),
            None => self.settle(Settlement::for_all(Verdict::StartAgain)),
        }
    }

    pub(super) fn settle(&mut self, settlement: Settlement) {
        if !self.settled {
            self.settled = true;
            self.core.fold.settle(&self.entry, settlement);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.settle(Settlement::for_all(Verdict::Abandoned));
        // A seat that nobody has taken holds the entry that it is in.
        drop(self.entry.take_seat());
    }
}

/// An entry that nobody works for, and that keeps its place. No shutdown waits for it, and it keeps nothing else.
#[derive(Debug)]
pub(super) struct Resting {
    fold: Weak<Fold>,
    entry: Arc<Entry>,
}

impl Drop for Resting {
    fn drop(&mut self) {
        if let Some(fold) = self.fold.upgrade() {
            fold.settle(&self.entry, Settlement::for_all(Verdict::StartAgain));
        }
    }
}
