//! Bodies: how the user's code is run, in a task of its own or in the caller's, and its outcome handed on.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::{Instrument as _, Span};

use super::need::{Behind, Boxed, Need, Role};
use super::shape::{Received, Shape};
use crate::flight::context::Context;
use crate::flight::core::Core;
use crate::flight::leader::Runner;
use crate::flight::refresh;
use crate::flight::report::{Produced, Report};
use crate::flight::seat::Seat;
use crate::flight::settlement::Outcome;
use crate::flight::turn::Turn;
use crate::flight::waiter::Waiter;
use crate::format::envelope::{Seen, Status};
use crate::ports::event::{CallOutcome, Cause, Ending, Event, Incident};
use crate::ports::ticket::Execution;
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
    /// Turn after turn, until it is known what becomes of the caller.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` holds its arguments twice: as such, and as variables"
    )]
    pub(crate) fn decide<R, S: Shape<R>>(
        self,
        mut waiter: Waiter,
        shape: S,
    ) -> impl Future<Output = Need<R>> {
        async move {
            let next = loop {
                let turn = waiter.turn().await;
                if let Some(next) = self.next(&mut waiter, turn, shape) {
                    break next;
                }
            };
            self.need(next, waiter)
        }
    }

    fn need<R>(self, next: Next<R>, waiter: Waiter) -> Need<R> {
        let role = match next {
            Next::Answer(answer, outcome) => {
                waiter.answered(outcome);
                return Need::Nothing(answer);
            }
            Next::Stale(answer, outdated) => return self.behind(answer, outdated, waiter),
            Next::Seat(seat) => Role::Leader(self, seat, waiter),
            Next::Alone => Role::Alone(self, waiter),
            Next::Capped => Role::Capped(waiter),
        };
        Need::Answer(Box::new(role))
    }

    /// A stale answer, and the refresh behind it if there is room for one.
    fn behind<R>(self, answer: R, outdated: Option<Seen>, waiter: Waiter) -> Need<R> {
        let open = |outdated| {
            let Self { core, key, .. } = &self;
            refresh::open(core, key, outdated, waiter.span())
        };
        match outdated.and_then(open) {
            Some(opening) => Need::Refresh(
                answer,
                Box::new(Behind {
                    scene: self,
                    waiter,
                    opening,
                }),
            ),
            None => {
                waiter.answered(CallOutcome::Stale);
                Need::Nothing(answer)
            }
        }
    }

    /// Runs the body for its caller and nobody else.
    pub(super) async fn alone<R, S, Fut>(&self, shape: S, body: Fut, waiter: Waiter) -> R
    where
        S: Shape<R>,
        Fut: Future<Output = R> + Unpin,
    {
        let flight = Box::pin(async {
            let execution = Execution::start(&self.core.observers, &self.key, waiter.cause());
            let value = body.instrument(execution.span().clone()).await;
            let ending = if shape.is_error(&value) {
                Ending::Error
            } else {
                Ending::Value
            };
            execution.end(ending, now());
            value
        });
        let context = Context::of_flight(&self.key, waiter.span());
        let value = context.run(flight).await;
        waiter.answered(CallOutcome::Led);
        value
    }

    /// The body of a refresh.
    pub(super) fn refresher<R, S>(self, shape: S, body: Boxed<R>, span: &Span) -> Runner
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        let context = Context::of_refresh(&self.key, span);
        let locals = self.core.locals.taken();
        Box::new(move |seat| {
            Box::pin(context.run(locals.around(async move {
                self.run(seat, shape, body).await;
            })))
        })
    }

    pub(super) async fn lead_detached<R, S>(
        self,
        shape: S,
        body: Boxed<R>,
        seat: Seat,
        waiter: Waiter,
    ) -> R
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        let context = Context::of_flight(&self.key, waiter.span());
        // A task of its own: the flight goes on when this caller goes away.
        let locals = self.core.locals.taken();
        let flight = locals.around(async move { self.run(seat, shape, body).await });
        let flight = tokio::spawn(context.run(flight));
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

    /// Runs the body as a flight that ends with its caller.
    pub(super) async fn lead_inline<R, S, Fut>(
        &self,
        shape: S,
        body: Fut,
        seat: Seat,
        waiter: Waiter,
    ) -> R
    where
        S: Shape<R>,
        Fut: Future<Output = R>,
    {
        let context = Context::of_flight(&self.key, waiter.span());
        let flight = Box::pin(self.run(seat, shape, body));
        let value = context.run(flight).await;
        waiter.settled().await.close(CallOutcome::Led);
        value
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
        Error::Failed { .. }
        | Error::Abandoned { .. }
        | Error::MissingHeader { .. }
        | Error::NotConfigured { .. } => Cause::Abandoned,
    }
}

/// Whether an outcome can be read as an `R`, and the value if so.
pub(crate) fn read_as<R, S: Shape<R>>(shape: S, outcome: &Outcome, key: &Key) -> Option<R> {
    shape.decode(Received {
        outcome,
        namespace: key.namespace(),
    })
}
