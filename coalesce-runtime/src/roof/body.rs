//! Bodies: how the user's code is run, in a task of its own or in the caller's, and its outcome handed on.
//!
//! A body is boxed once it is known that it runs: it passes through several futures on its way, each of
//! which would otherwise hold it again, and most calls never run it. Behind the box it has no type of its
//! own any more, so that a program compiles this once per return type, and not once per function.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use tracing::{Instrument as _, Span};

use super::shape::{Received, Shape};
use crate::flight::context::Context;
use crate::flight::core::Core;
use crate::flight::leader::{Produced, Report, Runner};
use crate::flight::refresh;
use crate::flight::seat::Seat;
use crate::flight::settlement::Outcome;
use crate::flight::turn::Turn;
use crate::flight::waiter::Waiter;
use crate::format::envelope::{Seen, Status};
use crate::ports::event::{CallOutcome, Cause, Ending, Event, Incident};
use crate::ports::ticket::{Execution, Ticket};
use crate::words::clock::now;
use crate::words::error::Error;
use crate::words::key::Key;
use crate::words::policy::Policy;

/// One coalesced call: where it happens, under which policy and for which key.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) core: Arc<Core>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) key: Key,
}

/// A body that runs.
pub(crate) type Boxed<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// What becomes of a caller, once its turn has been read as an `R`.
enum Next<R> {
    Answer(R, CallOutcome),
    Stale(R, Option<Seen>),
    Seat(Seat),
    Alone,
    Capped,
}

/// What a stored value was.
enum Stored {
    Fresh,
    Stale(Option<Seen>),
}

impl Scene {
    /// The call, with a body that owns what it needs: it outlives its caller, and can run behind a stale answer.
    // No `async fn`: its future would hold the call a second time.
    pub(crate) fn detached<R, S, F, Fut>(
        self,
        ticket: Ticket,
        shape: S,
        body: F,
    ) -> impl Future<Output = R>
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        let waiter = Waiter::new(&self.core, &self.policy, self.key.clone(), ticket, true);
        self.detached_from(waiter, shape, body)
    }

    /// The same, from a waiter that has wishes of its own.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` holds its arguments twice: as such, and as variables"
    )]
    pub(crate) fn detached_from<R, S, F, Fut>(
        self,
        mut waiter: Waiter,
        shape: S,
        body: F,
    ) -> impl Future<Output = R>
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        async move {
            match self.decide(&mut waiter, shape).await {
                Next::Answer(answer, outcome) => {
                    waiter.answered(outcome);
                    answer
                }
                Next::Stale(answer, outdated) => {
                    if let Some(outdated) = outdated {
                        self.refresh_behind(shape, || Box::pin(body()), outdated, waiter.span());
                    }
                    waiter.answered(CallOutcome::Stale);
                    answer
                }
                Next::Seat(seat) => {
                    Box::pin(self.lead_detached(shape, Box::pin(body()), seat, waiter)).await
                }
                Next::Alone => {
                    let body: Boxed<R> = Box::pin(body());
                    Box::pin(self.alone(body, waiter)).await
                }
                Next::Capped => {
                    let body: Boxed<R> = Box::pin(body());
                    Box::pin(past_the_limits(body, waiter)).await
                }
            }
        }
    }

    /// The call, with a body that runs in the caller's own task.
    pub(crate) fn inline<R, S, F, Fut>(
        self,
        ticket: Ticket,
        shape: S,
        body: F,
    ) -> impl Future<Output = R>
    where
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R>,
    {
        let mut waiter = Waiter::new(&self.core, &self.policy, self.key.clone(), ticket, false);
        async move {
            match self.decide(&mut waiter, shape).await {
                Next::Answer(answer, outcome) => {
                    waiter.answered(outcome);
                    answer
                }
                Next::Stale(answer, _) => {
                    waiter.answered(CallOutcome::Stale);
                    answer
                }
                Next::Seat(seat) => {
                    let context = Context::of_flight(&self.key, waiter.span());
                    let flight = Box::pin(self.run(seat, shape, Box::pin(body())));
                    let value = context.run(flight).await;
                    waiter.settled().await.close(CallOutcome::Led);
                    value
                }
                Next::Alone => Box::pin(self.alone(Box::pin(body()), waiter)).await,
                Next::Capped => Box::pin(past_the_limits(Box::pin(body()), waiter)).await,
            }
        }
    }

    /// Turn after turn, until it is known what becomes of the caller.
    async fn decide<R, S: Shape<R>>(&self, waiter: &mut Waiter, shape: S) -> Next<R> {
        loop {
            let turn = waiter.turn().await;
            if let Some(next) = self.next(waiter, turn, shape) {
                return next;
            }
        }
    }

    /// Runs the body for its caller and nobody else.
    async fn alone<Fut: Future + Unpin>(&self, body: Fut, waiter: Waiter) -> Fut::Output {
        let flight = Box::pin(async {
            let execution = Execution::start(&self.core.observers, &self.key, waiter.cause());
            let value = body.instrument(execution.span().clone()).await;
            execution.end(Ending::Value, now());
            value
        });
        let context = Context::of_flight(&self.key, waiter.span());
        let value = context.run(flight).await;
        waiter.answered(CallOutcome::Led);
        value
    }

    /// Starts a refresh of the state marked `outdated`, on behalf of the call with this span.
    pub(crate) fn refresh_behind<R, S>(
        &self,
        shape: S,
        body: impl FnOnce() -> Boxed<R>,
        outdated: Seen,
        call: &Span,
    ) where
        R: Send + 'static,
        S: Shape<R>,
    {
        refresh::start(
            &self.core,
            &self.policy,
            &self.key,
            outdated,
            call,
            |span| self.clone().refresher(shape, body(), span),
        );
    }

    fn refresher<R, S>(self, shape: S, body: Boxed<R>, span: &Span) -> Runner
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        let context = Context::of_flight(&self.key, span);
        Box::new(move |seat| {
            Box::pin(context.run(async move {
                self.run(seat, shape, body).await;
            }))
        })
    }

    async fn lead_detached<R, S>(&self, shape: S, body: Boxed<R>, seat: Seat, waiter: Waiter) -> R
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        let scene = self.clone();
        let context = Context::of_flight(&self.key, waiter.span());
        // A task of its own: the flight goes on when this caller goes away.
        let flight = tokio::spawn(context.run(async move { scene.run(seat, shape, body).await }));
        let ended = flight.await;
        let ticket = waiter.settled().await;
        match ended {
            Ok(value) => {
                ticket.close(CallOutcome::Led);
                value
            }
            // The caller meets the panic as it would without the attribute.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => {
                    std::panic::panic_any("the runtime that ran the coalesced body was shut down")
                }
            },
        }
    }

    /// Runs the body and hands its outcome to the driver.
    async fn run<R, S, Fut>(&self, seat: Seat, shape: S, body: Fut) -> R
    where
        S: Shape<R>,
        Fut: Future<Output = R>,
    {
        let execution = Execution::start(&self.core.observers, &self.key, seat.cause());
        let (started, span) = (execution.started(), execution.span().clone());
        let trace = span.in_scope(|| self.core.traces.current());
        let value = body.instrument(span).await;
        let ended = now();
        seat.close();
        let (limit, shared_here) = (self.policy.max_payload, seat.has_followers());
        let encode = || shape.encode(&value, limit, shared_here).0;
        // A value is there. That writing it down panics is no reason to lose it.
        let produced =
            catch_unwind(AssertUnwindSafe(encode)).unwrap_or_else(|_| Produced::unwritten());
        execution.end(ending_of(produced.status), ended);
        self.tell_of(&produced);
        seat.report(Report {
            produced,
            started,
            ended,
            trace,
        });
        value
    }

    fn tell_of(&self, produced: &Produced) {
        if produced.status == Status::TooLarge {
            self.core.tell(&self.key, Incident::TooLarge);
        } else {
            let bytes = produced.payload.len();
            let encoded = Event::Encoded { bytes };
            self.core.observers.record(self.key.namespace(), &encoded);
        }
    }

    /// What a turn means to its caller; `None` when there is to be another.
    fn next<R, S: Shape<R>>(&self, waiter: &mut Waiter, turn: Turn, shape: S) -> Option<Next<R>> {
        waiter.waited(&turn);
        let (outcome, stale) = match turn {
            Turn::Seat(seat) => return Some(Next::Seat(seat)),
            Turn::Error(error) => {
                let cause = cause_after(&error);
                return match shape.failure(error) {
                    Some(answer) => Some(Next::Answer(answer, CallOutcome::Failed)),
                    None if waiter.fall_back(cause) => None,
                    None => Some(Next::Alone),
                };
            }
            Turn::Alone => return Some(Next::Alone),
            Turn::Capped => return Some(Next::Capped),
            Turn::Followed(outcome) => (outcome, None),
            Turn::Fresh(outcome) => (outcome, Some(Stored::Fresh)),
            Turn::Stale { outcome, refresh } => (outcome, Some(Stored::Stale(refresh))),
        };
        let answer = read_as(shape, &outcome, &self.key);
        if answer.is_some() {
            waiter.link(&outcome);
        }
        Some(match (answer, stale) {
            (Some(answer), None) => Next::Answer(answer, CallOutcome::Followed),
            (Some(answer), Some(Stored::Fresh)) => Next::Answer(answer, CallOutcome::Fresh),
            (Some(answer), Some(Stored::Stale(refresh))) => Next::Stale(answer, refresh),
            (None, _) if waiter.pass_over(&outcome) => return None,
            (None, _) => Next::Alone,
        })
    }
}

const fn ending_of(status: Status) -> Ending {
    match status {
        Status::Failed => Ending::Error,
        Status::Done | Status::TooLarge | Status::Invalidated => Ending::Value,
    }
}

/// Why a body runs for a caller that cannot be given this error.
const fn cause_after(error: &Error) -> Cause {
    match error {
        Error::WaitTimeout { .. } => Cause::TimedOut,
        Error::Unavailable { .. } => Cause::FailOpen,
        Error::Failed { .. } | Error::Abandoned { .. } | Error::MissingHeader { .. } => {
            Cause::Abandoned
        }
    }
}

/// Runs the body as if the attribute were not there.
async fn past_the_limits<Fut: Future + Unpin>(body: Fut, waiter: Waiter) -> Fut::Output {
    waiter.capped();
    let value = body.await;
    waiter.answered(CallOutcome::Bypassed);
    value
}

/// Whether an outcome can be read as an `R`, and the value if so.
pub(crate) fn read_as<R, S: Shape<R>>(shape: S, outcome: &Outcome, key: &Key) -> Option<R> {
    shape.decode(Received {
        outcome,
        namespace: key.namespace(),
    })
}
