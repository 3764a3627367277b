//! The typed entry behind one call: look, store, remove and refresh from outside.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use super::body::{Scene, read_as};
use super::call::{Call, Located, Route, route};
use super::need::Passage;
use super::shape::Shape;
use crate::engine::ask::ReplaceAsk;
use crate::engine::reading::{Reading, life_of, read};
use crate::flight::report::Produced;
use crate::flight::settlement::Outcome;
use crate::flight::waiter::Waiter;
use crate::format::envelope::{Envelope, Status};
use crate::ports::event::Incident;
use crate::ports::ticket::Ticket;
use crate::words::clock::now;
use crate::words::error::Error;
use crate::words::fault::Fault;
use crate::words::key::Key;
use crate::words::token::Token;

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One entry: the call of an annotated function with certain arguments, seen from outside.
///
/// Made by the function that `entry = …` names, or by [`DirectCall::entry`](crate::DirectCall::entry). Where no
/// coalescer can be built, looking finds nothing and changing is an error. What the kill switch turns off is not looked
/// at by callers, and can be looked at and changed here all the same.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # extern crate coalesce_runtime as coalesce;
/// use std::time::Duration;
///
/// use coalesce::{Clocks, Coalescer, Policy};
///
/// let seconds = Duration::from_secs;
/// let clocks = Clocks::new(seconds(60), None, seconds(30), Some(seconds(45)))?;
/// let policy = std::sync::Arc::new(Policy::new(clocks));
///
/// let coalescer = Coalescer::builder().in_process().build().await?;
/// let price = |id: u64| {
///     let call = coalescer.call("shop::price").key(id).policy(policy.clone());
///     call.entry(move || async move { 10 * id })
/// };
///
/// assert_eq!(price(7).peek().await?, None);
/// assert_eq!(price(7).call().await, 70);
/// price(7).put(65).await?;
/// assert_eq!(price(7).peek().await?, Some(65));
/// assert_eq!(price(7).refresh().await, 70);
/// price(7).invalidate().await?;
/// assert_eq!(price(7).peek().await?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[must_use]
pub struct Entry<'a, R> {
    call: Call,
    form: Arc<dyn Form<R>>,
    work: Box<dyn Work<'a, R> + Send + 'a>,
}

/// How an outcome of type `R` is written and read.
trait Form<R>: Send + Sync {
    fn encode(&self, value: &R, limit: usize) -> Produced;
    fn decode(&self, outcome: &Outcome, key: &Key) -> Option<R>;
}

struct Shaped<S>(S);

impl<R, S: Shape<R>> Form<R> for Shaped<S> {
    fn encode(&self, value: &R, limit: usize) -> Produced {
        self.0.encode(value, limit, false).0
    }

    fn decode(&self, outcome: &Outcome, key: &Key) -> Option<R> {
        read_as(self.0, outcome, key)
    }
}

/// What an entry can do once, with the body it was made of.
trait Work<'a, R> {
    fn call(self: Box<Self>, call: Call) -> Pending<'a, R>;
    fn flight(self: Box<Self>, scene: Scene, ticket: Ticket) -> Pending<'a, R>;
    fn bypass(self: Box<Self>) -> Pending<'a, R>;
}

struct ShapedWork<S, F> {
    shape: S,
    body: F,
}

impl<'a, R, S, F, Fut> Work<'a, R> for ShapedWork<S, F>
where
    R: Send + 'static,
    S: Shape<R>,
    F: FnOnce() -> Fut + Send + 'a,
    Fut: Future<Output = R> + Send + 'static,
{
    fn call(self: Box<Self>, call: Call) -> Pending<'a, R> {
        Box::pin(call.run(self.shape, self.body))
    }

    fn flight(self: Box<Self>, scene: Scene, ticket: Ticket) -> Pending<'a, R> {
        let mut waiter = Waiter::new(&scene.core, &scene.policy, scene.key.clone(), ticket, false);
        waiter.wants_a_flight();
        let Self { shape, body } = *self;
        Box::pin(async move {
            match scene.decide(waiter, shape).await.met(shape, body) {
                Ok(answer) => answer,
                Err(flight) => flight.await,
            }
        })
    }

    fn bypass(self: Box<Self>) -> Pending<'a, R> {
        Box::pin(async move { (self.body)().await })
    }
}

impl<'a, R: Send + 'static> Entry<'a, R> {
    pub(crate) fn new<S, F, Fut>(call: Call, shape: S, body: F) -> Self
    where
        S: Shape<R>,
        F: FnOnce() -> Fut + Send + 'a,
        Fut: Future<Output = R> + Send + 'static,
    {
        let form = Arc::new(Shaped(shape));
        Self {
            call,
            form,
            work: Box::new(ShapedWork { shape, body }),
        }
    }

    /// The call itself, as if the annotated function had been called, at the same cost: one round trip for a stored
    /// value, and for a flight its begin and its finish besides.
    pub async fn call(self) -> R {
        self.work.call(self.call).await
    }

    /// Runs the body as if the attribute were not there. No round trip.
    pub async fn bypass(self) -> R {
        self.work.bypass().await
    }

    /// The outcome of a flight that starts now, or of the one in progress: never the value stored
    /// before. Others are served that one meanwhile.
    ///
    /// It takes as long as the body and costs a flight's two round trips, begin and finish. Who finds a flight in
    /// progress waits for it, `wait_timeout` at most.
    pub async fn refresh(self) -> R {
        match self.call.clone().locate().await {
            Located::Here(coalescer, scene) => {
                let ticket = Ticket::of_call(&scene.core.observers, &scene.key, &scene.policy);
                match route(&coalescer, &scene.policy, &scene.key) {
                    Route::Coalesce => self.work.flight(scene, ticket).await,
                    Route::Bypass(reason) => {
                        let passage = Passage::new(ticket, reason);
                        passage.through(self.work.bypass()).await
                    }
                }
            }
            Located::Nowhere(_) | Located::MissingHeader(..) => self.work.call(self.call).await,
        }
    }

    /// The key, when there is a coalescer and every header that is part of it. No round trip.
    ///
    /// Without a default coalescer it makes one, as the first call of a process does.
    pub fn key(&self) -> impl Future<Output = Option<Key>> + Send + use<R> {
        let call = self.call.clone();
        async move { scene_of(call).await.ok().map(|scene| scene.key) }
    }

    /// The stored value, fresh or stale; nothing is run. One round trip.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the coordinator gave no answer, [`Error::MissingHeader`].
    pub fn peek(&self) -> impl Future<Output = Result<Option<R>, Error>> + Send + use<R> {
        let (call, form) = (self.call.clone(), Arc::clone(&self.form));
        async move {
            let scene = match scene_of(call).await {
                Err(Error::NotConfigured { .. }) => return Ok(None),
                found => found?,
            };
            let state = scene.core.coordinator.read(&scene.key).await;
            let state = state.map_err(|fault| unavailable(&scene, fault))?;
            let envelope = state.and_then(|bytes| {
                let unread = |_| scene.core.tell(&scene.key, Incident::Undecodable);
                let envelope = Envelope::decode(&scene.key, &bytes);
                envelope.map_err(unread).ok()
            });
            let server_now = scene.core.coordinator.clock(&scene.key).server_at(now());
            let served = |envelope: &Envelope| {
                matches!(
                    read(envelope, &scene.policy, server_now),
                    Reading::Fresh | Reading::Stale { .. }
                )
            };
            Ok(envelope
                .filter(served)
                .and_then(|envelope| form.decode(&envelope.into(), &scene.key)))
        }
    }

    /// Removes the stored value and fences the flight in progress: its outcome still reaches those who
    /// had joined it, but is not retained, and the next caller leads a new flight. One round trip.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the coordinator gave no answer: the value may still be there.
    /// [`Error::NotConfigured`] where no coalescer can be built: it is still there. [`Error::MissingHeader`].
    pub fn invalidate(&self) -> impl Future<Output = Result<(), Error>> + Send + use<R> {
        let call = self.call.clone();
        async move {
            let scene = scene_of(call).await?;
            let nothing = Produced {
                status: Status::Invalidated,
                codec: 0,
                payload: Bytes::new(),
                spare: None,
            };
            replace(&scene, nothing).await
        }
    }

    /// Stores an outcome as if a flight had just returned it, and fences the flight in progress. One
    /// round trip. A value above `max_payload` is not stored, and neither is an older one any more.
    ///
    /// It lives for as long as the policy says: a value for `stale_ttl`, which is zero unless it or `fresh_ttl` is set.
    /// With such a policy followers of the moment get it, later callers do not, and that is no error.
    ///
    /// An `Err` takes the place of a good value, which one that a flight returns behind a stale value does not: it is
    /// served for `keep_errors`, and with none the next caller leads a new flight.
    ///
    /// One that got no answer may still be under way, and stored later than what was put in the meantime: after
    /// [`Error::Unavailable`], put again what must be there in the end.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the coordinator gave no answer. [`Error::NotConfigured`] where no coalescer can be
    /// built: nothing is stored. [`Error::MissingHeader`].
    pub fn put(&self, outcome: R) -> impl Future<Output = Result<(), Error>> + Send + use<R> {
        let (call, form) = (self.call.clone(), Arc::clone(&self.form));
        async move {
            let scene = scene_of(call).await?;
            let produced = form.encode(&outcome, scene.policy.max_payload);
            drop(outcome);
            replace(&scene, produced).await
        }
    }
}

async fn replace(scene: &Scene, produced: Produced) -> Result<(), Error> {
    let Produced {
        status,
        codec,
        payload,
        ..
    } = produced;
    let envelope = Envelope::new(
        status,
        codec,
        Token::random(),
        std::time::Duration::ZERO,
        payload,
    );
    let life = life_of(status, &scene.policy, scene.core.settings.delivery);
    let ask = ReplaceAsk { envelope, life };
    let answer = scene.core.replace(&scene.key, &ask).await;
    answer.map(drop).map_err(|fault| unavailable(scene, fault))
}

async fn scene_of(call: Call) -> Result<Scene, Error> {
    match call.locate().await {
        Located::Here(_, scene) => Ok(scene),
        Located::Nowhere(origin) => Err(Error::NotConfigured {
            namespace: origin.namespace(),
        }),
        Located::MissingHeader(.., error) => Err(error),
    }
}

impl<R> fmt::Debug for Entry<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

fn unavailable(scene: &Scene, fault: Fault) -> Error {
    Error::Unavailable {
        namespace: Arc::clone(scene.key.namespace()),
        fault,
    }
}
