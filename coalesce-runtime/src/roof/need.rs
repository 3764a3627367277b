//! Needs: what a call wants of its body, once that is known. What was done until then is compiled once per return
//! type, and what is done from here on as well: of an annotated function's own there is only the step between.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::body::Scene;
use super::shape::Shape;
use crate::flight::refresh::Opening;
use crate::flight::seat::Seat;
use crate::flight::waiter::Waiter;
use crate::ports::event::{BypassReason, CallOutcome};
use crate::ports::ticket::Ticket;

/// A body that runs.
pub(crate) type Boxed<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// What a call wants of its body.
pub(crate) enum Need<R> {
    /// Nothing: this is its answer.
    Nothing(R),
    /// A refresh, behind this answer.
    Refresh(R, Box<Behind>),
    /// The answer.
    Answer(Box<Role>),
}

/// A refresh that only lacks a body, and whose call it is.
#[derive(Debug)]
pub(crate) struct Behind {
    pub(crate) scene: Scene,
    pub(crate) waiter: Waiter,
    pub(crate) opening: Opening,
}

/// As what a body runs.
#[derive(Debug)]
pub(crate) enum Role {
    /// As if the attribute were not there.
    Bypass(Passage),
    /// As a flight.
    Leader(Scene, Seat, Waiter),
    /// For its caller and nobody else.
    Alone(Scene, Waiter),
    /// The first of these, because there is no room in this process.
    Capped(Waiter),
}

/// The way past the coordinator.
#[derive(Debug)]
pub(crate) struct Passage(pub(crate) Option<Ticket>);

impl<R> Need<R> {
    /// The answer, or the future that brings it. The body is boxed as soon as it is known that it runs: on its way
    /// it passes through several futures, each of which would hold it again.
    pub(crate) fn met<S, F, Fut>(self, shape: S, body: F) -> Result<R, Boxed<R>>
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        match self {
            Self::Nothing(answer) => Ok(answer),
            Self::Refresh(answer, behind) => {
                behind.start(shape, Box::pin(body()));
                Ok(answer)
            }
            Self::Answer(role) => Err(role.play(shape, Box::pin(body()))),
        }
    }

    /// The answer, brought in the caller's own task.
    pub(crate) async fn met_inline<S, F, Fut>(self, shape: S, body: F) -> R
    where
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R>,
    {
        match self {
            Self::Nothing(answer) | Self::Refresh(answer, _) => answer,
            Self::Answer(role) => Box::pin(role.play_inline(shape, Box::pin(body()))).await,
        }
    }
}

impl Behind {
    fn start<R, S>(self, shape: S, body: Boxed<R>)
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        let (core, policy) = (Arc::clone(&self.scene.core), Arc::clone(&self.scene.policy));
        let runner = self.scene.refresher(shape, body, self.opening.span());
        self.opening.start(&core, &policy, runner);
        self.waiter.answered(CallOutcome::Stale);
    }
}

impl Role {
    fn play<R, S>(self, shape: S, body: Boxed<R>) -> Boxed<R>
    where
        R: Send + 'static,
        S: Shape<R>,
    {
        match self {
            Self::Leader(scene, seat, waiter) => {
                Box::pin(scene.lead_detached(shape, body, seat, waiter))
            }
            Self::Bypass(_) | Self::Alone(..) | Self::Capped(_) => {
                Box::pin(self.play_inline(shape, body))
            }
        }
    }

    async fn play_inline<R, S, Fut>(self, shape: S, body: Fut) -> R
    where
        S: Shape<R>,
        Fut: Future<Output = R> + Unpin,
    {
        match self {
            Self::Bypass(passage) => passage.through(body).await,
            Self::Leader(scene, seat, waiter) => scene.lead_inline(shape, body, seat, waiter).await,
            Self::Alone(scene, waiter) => scene.alone(shape, body, waiter).await,
            Self::Capped(waiter) => {
                waiter.capped();
                let value = body.await;
                waiter.answered(CallOutcome::Bypassed);
                value
            }
        }
    }
}

impl Passage {
    pub(crate) fn new(ticket: Ticket, reason: BypassReason) -> Self {
        ticket.bypassed(reason);
        Self(Some(ticket))
    }

    /// Lets the body answer the call.
    pub(crate) async fn through<Fut: Future + Unpin>(self, body: Fut) -> Fut::Output {
        let answer = body.await;
        if let Some(ticket) = self.0 {
            ticket.close(CallOutcome::Bypassed);
        }
        answer
    }
}
