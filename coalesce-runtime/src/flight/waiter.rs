//! The waiter: one caller's way from its arrival to an outcome, a seat, or an error.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tracing::Span;

use super::core::Core;
use super::driver::Driver;
use super::entry::{Entry, Lane, PATIENCE, Stage};
use super::member::Member;
use super::settlement::{Outcome, Settlement, Verdict};
use super::turn::Turn;
use crate::engine::follow::ABANDONED_AT_MOST;
use crate::format::envelope::{Seen, Status};
use crate::ports::event::{BypassReason, CallOutcome, Cause, Incident};
use crate::ports::ticket::Ticket;
use crate::ports::wanted::Wanted;
use crate::words::clock::{Instant, now};
use crate::words::error::Error;
use crate::words::key::Key;
use crate::words::policy::{OnError, OnRedisError, Policy};

/// One caller.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own: a wish and things that may happen once"
)]
pub(crate) struct Waiter {
    pub(super) core: Arc<Core>,
    pub(super) policy: Arc<Policy>,
    pub(super) key: Key,
    ticket: Ticket,
    /// That of its wait for others, while it waits and somebody wants to know.
    waiting: Wanted,
    deadline: Option<Instant>,
    pub(super) lane: Lane,
    /// Why a body would run for this caller.
    cause: Cause,
    member: Option<Member>,
    /// The entry that it joins next, if that can still be joined.
    runs_here: Option<Arc<Entry>>,
    /// The mark of a state that is as good as none to this caller: it cannot read it, or wants a newer one.
    pub(super) unwanted: Option<Seen>,
    /// Whether a stale value is an answer; without a refresh behind it, it is not.
    pub(super) takes_stale: bool,
    abandoned: u32,
    retried: bool,
    /// Whether there has been an outcome that it could not read.
    passed_over: bool,
    /// Whether it has fallen back to running the body.
    /// How many bodies that were run behind a flight it has waited for in vain.
    outlived: u32,
    /// Whether it has had a place in the fold.
    placed: bool,
}

impl Waiter {
    pub(crate) fn new(
        core: &Arc<Core>,
        policy: &Arc<Policy>,
        key: Key,
        ticket: Ticket,
        takes_stale: bool,
    ) -> Self {
        let arrived = ticket.arrived();
        // A wait too long for the clock is as good as no limit.
        let deadline = policy
            .clocks()
            .wait()
            .and_then(|wait| arrived.checked_add(wait));
        Self {
            core: Arc::clone(core),
            policy: Arc::clone(policy),
            key,
            ticket,
            waiting: Wanted::default(),
            deadline,
            lane: Lane::Shared,
            cause: Cause::Cold,
            member: None,
            runs_here: None,
            unwanted: None,
            takes_stale,
            abandoned: 0,
            retried: false,
            passed_over: false,
            outlived: 0,
            placed: false,
        }
    }

    /// The caller's next turn.
    pub(crate) async fn turn(&mut self) -> Turn {
        loop {
            let member = self.member.take();
            let entry = self.runs_here.take();
            let joins = || entry.and_then(|entry| self.core.fold.join_this(entry));
            let mut member = match member.or_else(joins) {
                Some(member) => member,
                None => match self.core.fold.join(self.lane, &self.key, self.placed) {
                    Some(member) => {
                        self.placed = true;
                        member
                    }
                    None => return self.without_a_place().await,
                },
            };
            if member.reads() {
                self.read(&mut member).await;
            }
            match member.stage() {
                Stage::Settled(settlement) => {
                    drop(member);
                    if let Some(turn) = self.judge(&settlement) {
                        return turn;
                    }
                }
                // It has been fenced, or lost its lock, before this caller came.
                _ if !member.entry().may_be_for(self.ticket.arrived()) => drop(member),
                Stage::Offered => match member.take_seat() {
                    Some(seat) => {
                        if seat.cause() == Cause::Takeover {
                            self.link_to_leader_of(&member);
                        }
                        self.member = Some(member);
                        return Turn::Seat(seat);
                    }
                    None => match self.wait(member).await {
                        Ok(member) => self.member = Some(member),
                        Err(error) => return Turn::Error(error),
                    },
                },
                Stage::Vacant if member.claim_reading() => self.member = Some(member),
                Stage::Vacant | Stage::Working => match self.wait(member).await {
                    Ok(member) => self.member = Some(member),
                    Err(error) => return Turn::Error(error),
                },
            }
        }
    }

    /// This caller's body runs as if the attribute were not there: as much is in progress here as may be.
    pub(crate) fn capped(&self) {
        self.ticket.bypassed(BypassReason::Capped);
    }

    /// Waits until the flight whose body this caller ran has been settled.
    pub(crate) async fn settled(mut self) -> Ticket {
        if let Some(member) = &mut self.member {
            member.settled().await;
        }
        self.ticket
    }

    /// The caller has its answer.
    pub(crate) fn answered(self, outcome: CallOutcome) {
        self.ticket.close(outcome);
    }

    /// Why the body runs, when it runs for this caller and nobody else.
    pub(crate) const fn cause(&self) -> Cause {
        self.cause
    }

    /// This caller cannot read that outcome: it goes on as if it were not there. The answer is `false`
    /// when there is no use in that.
    ///
    /// Once, it was another version's. Twice, it may be a type that is never read back as it was written.
    pub(crate) fn pass_over(&mut self, outcome: &Outcome) -> bool {
        self.core.tell(&self.key, Incident::Undecodable);
        self.unwanted = Some(outcome.mark);
        !std::mem::replace(&mut self.passed_over, true) || self.fall_back(Cause::Undecodable)
    }

    /// This caller wants the outcome of a flight, and none that was there before.
    pub(crate) fn wants_a_flight(&mut self) {
        if self.may_find_something() {
            self.lane = Lane::Requested;
        }
        self.cause = Cause::Requested;
    }

    /// This caller has no way to return an error: it runs the body, together with others of this
    /// process that have to. Giving up never starts a herd.
    ///
    /// The answer is `false` when that was in vain before: to try it again would be to queue, each
    /// caller running the body and all others waiting for nothing.
    pub(crate) fn fall_back(&mut self, cause: Cause) -> bool {
        self.deadline.take().is_some() | self.go_alone(cause)
    }

    /// How long a body has that this caller runs behind its flight. Whatever hangs must hold nobody for ever, and
    /// whatever is slow must not be run by everybody: each one that is over its time leaves the next twice as much.
    pub(super) fn fallback(&self) -> Duration {
        let doubled = 1 << self.outlived.min(10);
        self.policy.clocks().fallback().saturating_mul(doubled)
    }

    /// This caller runs the body, together with others of this process that have to. It still waits no
    /// longer than it may. The answer is `false` when it has been there before.
    fn go_alone(&mut self, cause: Cause) -> bool {
        self.cause = cause;
        std::mem::replace(&mut self.lane, Lane::Solo) != Lane::Solo
    }

    /// The span of the call, where somebody wants it.
    pub(crate) fn span(&self) -> &Span {
        self.ticket.span()
    }

    /// The call is answered by this outcome.
    pub(crate) fn link(&self, outcome: &Outcome) {
        if let Some(leader) = outcome.trace {
            self.core.traces.link(leader, self.span());
        }
    }

    /// The call has waited for a leader, and has no outcome of it.
    fn link_to_leader_of(&self, member: &Member) {
        if let Some(leader) = member.entry().led_in() {
            self.core.traces.link(leader, self.span());
        }
    }

    /// Its turn has come: what it waited for ends here.
    pub(crate) fn waited(&mut self, turn: &Turn) {
        let waited = std::mem::take(&mut self.waiting);
        waited.record("outcome", turn.label());
    }

    /// Opens the span of a wait, unless it is open.
    fn waits(&mut self) {
        if self.waiting.is_disabled() {
            self.waiting = Wanted::from(tracing::trace_span!(
                parent: self.span().id().or_else(|| Span::current().id()),
                "coalesce.wait",
                namespace = &**self.key.namespace(),
                outcome = tracing::field::Empty,
            ));
        }
    }

    async fn wait(&mut self, mut member: Member) -> Result<Member, Error> {
        self.waits();
        let patience = (!member.is_driven()).then(|| now() + PATIENCE);
        let Some(until) = patience.into_iter().chain(self.deadline).min() else {
            member.changed().await;
            return Ok(member);
        };
        match tokio::time::timeout_at(until, member.changed()).await {
            Ok(()) => Ok(member),
            Err(_) if self.deadline.is_none_or(|deadline| now() < deadline) => {
                member.claim_reading();
                Ok(member)
            }
            Err(_) => {
                self.ticket.timed_out();
                self.link_to_leader_of(&member);
                let limit = self.policy.clocks().wait().unwrap_or_default();
                Err(Error::WaitTimeout {
                    namespace: Arc::clone(self.key.namespace()),
                    limit,
                })
            }
        }
    }

    /// Hands the entry to a driver, unless another member has taken this one's place.
    pub(super) fn start<F>(&self, member: &mut Member, work: impl FnOnce(Driver) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if member.hand_over() {
            let trace = self.span().in_scope(|| self.core.traces.current());
            let (core, policy) = (&self.core, &self.policy);
            let driver = Driver::new(core, policy, member.entry(), self.cause, trace);
            tokio::spawn(work(driver));
        }
    }

    /// What a settlement is to this caller; `None`: it starts again.
    fn judge(&mut self, settlement: &Settlement) -> Option<Turn> {
        if !settlement.is_for(self.ticket.arrived()) {
            return None;
        }
        let namespace = || Arc::clone(self.key.namespace());
        match settlement.verdict.clone() {
            Verdict::Outcome(outcome) => {
                let retries = outcome.status == Status::Failed
                    && self.policy.on_error == OnError::Retry
                    && !std::mem::replace(&mut self.retried, true);
                if retries {
                    self.cause = Cause::Retry;
                }
                (!retries).then_some(Turn::Followed(outcome))
            }
            Verdict::Stored(stored, policy) => self.takes(&stored, &policy).then(|| stored.into()),
            Verdict::Abandoned if self.abandoned + 1 < ABANDONED_AT_MOST => {
                self.abandoned += 1;
                self.cause = Cause::Takeover;
                None
            }
            Verdict::Abandoned | Verdict::AbandonedForGood => Some(Turn::Error(Error::Abandoned {
                namespace: namespace(),
            })),
            Verdict::Outlived if self.lane == Lane::Solo => {
                self.outlived += 1;
                None
            }
            Verdict::Outlived | Verdict::GaveWay => {
                self.cause = Cause::Takeover;
                None
            }
            Verdict::StartAgain => None,
            Verdict::RunsHere(entry) => {
                self.runs_here = Some(entry);
                None
            }
            Verdict::Marked(policy) if !self.reads_like(&policy) => None,
            Verdict::GoAlone | Verdict::Marked(_) => {
                (!self.go_alone(Cause::TooLarge)).then_some(Turn::Alone)
            }
            // It was another caller that would rather fail.
            Verdict::Unavailable(_) if self.policy.on_redis_error == OnRedisError::Run => {
                (!self.go_alone(Cause::FailOpen)).then_some(Turn::Alone)
            }
            Verdict::Unavailable(fault) => Some(Turn::Error(Error::Unavailable {
                namespace: namespace(),
                fault,
            })),
        }
    }
}
