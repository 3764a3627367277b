//! Direct calls: coalescing without the attribute.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::Scene;
use super::call::{Route, route_of_call};
use super::coalescer::Coalescer;
use super::form::{ErrorMessage, Plain};
use super::need::Passage;
use super::shape::{Bare, Fallible, Shape};
use crate::flight::waiter::Waiter;
use crate::format::codec::MessagePack;
use crate::ports::ticket::Ticket;
use crate::words::error::Error;
use crate::words::key::KeyBuilder;
use crate::words::key_part::KeyPart;
use crate::words::policy::Policy;

/// A call by hand: namespace, key, policy, body.
#[derive(Debug)]
#[must_use = "nothing happens before `run` or `try_run`"]
pub struct DirectCall {
    coalescer: Coalescer,
    namespace: Arc<str>,
    key: KeyBuilder,
    policy: Arc<Policy>,
}

impl DirectCall {
    pub(crate) fn new(coalescer: Coalescer, namespace: Arc<str>) -> Self {
        Self {
            coalescer,
            namespace,
            key: KeyBuilder::default(),
            policy: Arc::default(),
        }
    }

    /// Adds a part to the key. Parts count in their order.
    pub fn key(mut self, part: impl KeyPart) -> Self {
        self.key.part(&part);
        self
    }

    /// Another policy than the default, which retains nothing.
    pub fn policy(self, policy: impl Into<Arc<Policy>>) -> Self {
        Self {
            policy: policy.into(),
            ..self
        }
    }

    /// The value of the shared call. Where it cannot be shared, `body` runs.
    pub async fn run<T, F, Fut>(self, body: F) -> T
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T> + Send + 'static,
    {
        self.shaped(Bare::<Plain<MessagePack>>::SHAPE, body).await
    }

    /// The result of the shared call. Followers get an error made from the message of the leader's.
    ///
    /// # Errors
    ///
    /// Those of `body`, and [`Error`] turned into an `E`.
    pub async fn try_run<T, E, F, Fut>(self, body: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: From<Error> + Display + Send + 'static,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.shaped(Fallible::<Plain<MessagePack>, ErrorMessage>::SHAPE, body)
            .await
    }

    async fn shaped<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        let key = self.key.finish(self.namespace, self.policy.version);
        let ticket = Ticket::of_call(&self.coalescer.0.core.observers, &key, &self.policy);
        match route_of_call(&self.coalescer, &self.policy, &key) {
            Route::Bypass(reason) => {
                let passage = Passage::new(ticket, reason);
                passage.through(Box::pin(body())).await
            }
            Route::Coalesce => {
                let scene = Scene {
                    core: Arc::clone(&self.coalescer.0.core),
                    policy: self.policy,
                    key,
                };
                let Scene { core, policy, key } = &scene;
                let waiter = Waiter::new(core, policy, key.clone(), ticket, true);
                match scene.decide(waiter, shape).await.met(shape, body) {
                    Ok(answer) => answer,
                    Err(flight) => flight.await,
                }
            }
        }
    }
}
