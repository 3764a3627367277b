//! Bodies: how the user's code is run, in a task of its own or in the caller's, and its outcome handed on.
//!
//! A body is boxed once it is known that it runs: it passes through several futures on its way, each of
//! which would otherwise hold it again, and most calls never run it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::shape::{Received, Shape};
use crate::flight::context::Context;
use crate::flight::core::Core;
use crate::flight::leader::{Produced, Report, Runner};
use crate::flight::refresh;
use crate::flight::seat::Seat;
use crate::flight::settlement::Outcome;
use crate::flight::waiter::{Turn, Waiter};
use crate::format::envelope::{Seen, Status};
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

/// What a turn is, once it has been read as an `R`.
enum Next<R> {
    Answer(R),
    Stale(R, Option<Seen>),
    Seat(Seat),
    Again,
    Alone,
}

impl Scene {
    /// The call, with a body that owns what it needs: it outlives its caller, and can run behind a stale answer.
    // No `async fn`: its future would hold the call a second time.
    pub(crate) fn detached<R, S, F, Fut>(self, shape: S, body: F) -> impl Future<Output = R>
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        let waiter = Waiter::new(&self.core, &self.policy, self.key.clone(), true);
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
            loop {
                let turn = waiter.turn().await;
                match self.next(&mut waiter, turn, shape) {
                    Next::Answer(answer) | Next::Stale(answer, None) => return answer,
                    Next::Stale(answer, Some(outdated)) => {
                        self.refresh_behind(shape, body, outdated);
                        return answer;
                    }
                    Next::Seat(seat) => {
                        let body = Box::pin(body());
                        return Box::pin(self.lead_detached(shape, body, seat, waiter)).await;
                    }
                    Next::Again => {}
                    Next::Alone => return Box::pin(self.alone(body())).await,
                }
            }
        }
    }

    /// The call, with a body that runs in the caller's own task.
    pub(crate) async fn inline<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R>,
    {
        let mut waiter = Waiter::new(&self.core, &self.policy, self.key.clone(), false);
        loop {
            let turn = waiter.turn().await;
            match self.next(&mut waiter, turn, shape) {
                Next::Answer(answer) | Next::Stale(answer, _) => return answer,
                Next::Seat(seat) => {
                    let context = Context::of_flight(&self.key);
                    let flight = Box::pin(self.run(seat, shape, Box::pin(body())));
                    let value = context.run(flight).await;
                    waiter.settled().await;
                    return value;
                }
                Next::Again => {}
                Next::Alone => return Box::pin(self.alone(body())).await,
            }
        }
    }

    /// Runs the body for its caller and nobody else.
    async fn alone<Fut: Future>(&self, body: Fut) -> Fut::Output {
        self.core.counters.solo_runs.up();
        self.core.counters.executions.up();
        Context::of_flight(&self.key).run(Box::pin(body)).await
    }

    /// Starts a refresh of the state marked `outdated`.
    pub(crate) fn refresh_behind<R, S, F, Fut>(&self, shape: S, body: F, outdated: Seen)
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        refresh::start(
            &self.core,
            &self.policy,
            &self.key,
            outdated,
            || -> Runner {
                let (scene, context, future) = (
                    self.clone(),
                    Context::of_flight(&self.key),
                    Box::pin(body()),
                );
                Box::new(move |seat| {
                    Box::pin(context.run(async move {
                        scene.run(seat, shape, future).await;
                    }))
                })
            },
        );
    }

    async fn lead_detached<R, S, Fut>(&self, shape: S, body: Fut, seat: Seat, waiter: Waiter) -> R
    where
        R: Send + 'static,
        S: Shape<R>,
        Fut: Future<Output = R> + Send + 'static,
    {
        let scene = self.clone();
        let context = Context::of_flight(&self.key);
        // A task of its own: the flight goes on when this caller goes away.
        let flight = tokio::spawn(context.run(async move { scene.run(seat, shape, body).await }));
        let ended = flight.await;
        waiter.settled().await;
        match ended {
            Ok(value) => value,
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
        self.core.counters.executions.up();
        let started = now();
        let value = body.await;
        let ended = now();
        seat.close();
        let (limit, shared_here) = (self.policy.max_payload, seat.has_followers());
        let encode = || shape.encode(&value, limit, shared_here).0;
        // A value is there. That writing it down panics is no reason to lose it.
        let produced =
            catch_unwind(AssertUnwindSafe(encode)).unwrap_or_else(|_| Produced::unwritten());
        if produced.status == Status::TooLarge {
            self.core.counters.too_large.up();
        }
        seat.report(Report {
            produced,
            started,
            ended,
        });
        value
    }

    fn next<R, S: Shape<R>>(&self, waiter: &mut Waiter, turn: Turn, shape: S) -> Next<R> {
        let counters = &self.core.counters;
        let (outcome, stale) = match turn {
            Turn::Seat(seat) => {
                counters.led.up();
                return Next::Seat(seat);
            }
            Turn::Error(error) => {
                let timed_out = matches!(error, Error::WaitTimeout { .. });
                return match shape.failure(error) {
                    Some(answer) => {
                        if !timed_out {
                            counters.failed.up();
                        }
                        Next::Answer(answer)
                    }
                    None if waiter.fall_back() => Next::Again,
                    None => Next::Alone,
                };
            }
            Turn::Alone => return Next::Alone,
            Turn::Followed(outcome) => (outcome, None),
            Turn::Fresh(outcome) => (outcome, Some(None)),
            Turn::Stale { outcome, refresh } => (outcome, Some(refresh)),
        };
        let namespace = self.key.namespace();
        match (
            shape.decode(Received {
                outcome: &outcome,
                namespace,
            }),
            stale,
        ) {
            (Some(answer), None) => {
                counters.followed.up();
                Next::Answer(answer)
            }
            (Some(answer), Some(None)) => {
                counters.fresh.up();
                Next::Answer(answer)
            }
            (Some(answer), Some(refresh)) => {
                counters.stale.up();
                Next::Stale(answer, refresh)
            }
            (None, _) if waiter.pass_over(&outcome) => Next::Again,
            (None, _) => Next::Alone,
        }
    }
}

/// Whether an outcome can be read as an `R`, and the value if so.
pub(crate) fn read_as<R, S: Shape<R>>(shape: S, outcome: &Outcome, key: &Key) -> Option<R> {
    shape.decode(Received {
        outcome,
        namespace: key.namespace(),
    })
}
