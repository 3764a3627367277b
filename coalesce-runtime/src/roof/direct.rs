//! Direct calls: coalescing without the attribute.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::coalescer::Coalescer;
use super::entry::Entry;
use super::form::{ErrorMessage, Plain};
use super::shape::{Bare, Fallible};
use crate::format::codec::MessagePack;
use crate::words::error::Error;
use crate::words::key_part::KeyPart;
use crate::words::policy::Policy;

/// A call by hand: namespace, key, policy, body. Made by [`Coalescer::call`].
///
/// Values are written as `MessagePack`. Callers of one namespace and key return one type: what cannot be read as the
/// caller's type is a miss, and its body runs.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # extern crate coalesce_runtime as coalesce;
/// use std::time::Duration;
///
/// use coalesce::{Clocks, Coalescer, DirectCall, Policy};
///
/// let seconds = Duration::from_secs;
/// let clocks = Clocks::new(seconds(10), Some(seconds(60)), seconds(30), Some(seconds(45)))?;
/// let policy = std::sync::Arc::new(Policy::new(clocks));
///
/// let coalescer = Coalescer::builder().in_process().build().await?;
/// let total = |year: u16| coalescer.call("shop::total").key("acme").key(year).policy(policy.clone());
///
/// assert_eq!(total(2026).run(|| async { 42 }).await, 42);
/// assert_eq!(total(2026).run(|| async { 43 }).await, 42, "what is stored");
/// total(2026).invalidate().await?;
/// assert_eq!(total(2026).run(|| async { 43 }).await, 43);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "nothing happens before `run` or `try_run`"]
pub struct DirectCall(Call);

impl DirectCall {
    pub(crate) fn new(coalescer: Coalescer, namespace: Arc<str>) -> Self {
        Self(Call::direct(coalescer, namespace))
    }

    /// Adds a part to the key. Parts count in their order.
    pub fn key(mut self, part: impl KeyPart) -> Self {
        self.0.key.part(&part);
        self
    }

    /// Another policy than the default, which retains nothing.
    ///
    /// That of an annotated function, as [`ConfiguredSite::policy`](crate::ConfiguredSite::policy) has it, brings its
    /// version and the headers of its key along. The namespace is always the one of [`Coalescer::call`].
    pub fn policy(self, policy: impl Into<Arc<Policy>>) -> Self {
        Self(self.0.under(policy.into()))
    }

    /// The value of the shared call. Where it cannot be shared, `body` runs.
    ///
    /// A stored value costs one round trip, a flight three: begin, finish, and a look at what is stored where the policy
    /// retains values. A follower waits for the flight, `wait_timeout` at most, and then runs `body`.
    ///
    /// A `Result` that serde can write, error and all, may be returned here: an `Err` is shared with those who follow,
    /// and is otherwise a failure, as with the attribute. It takes no value's place and is kept for `keep_errors`, which
    /// is zero unless the policy says otherwise. For any other error there is [`try_run`](Self::try_run).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Coalescer;
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// let nickname = coalescer.call("shop::nickname").key(7);
    /// let nickname: Option<Option<String>> = nickname.run(|| async { Some(None) }).await;
    /// assert_eq!(nickname, Some(None));
    /// # Ok::<(), coalesce::BuildError>(())
    /// # }).unwrap();
    /// ```
    pub async fn run<T, F, Fut>(self, body: F) -> T
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut,
        Fut: Future<Output = T> + Send + 'static,
    {
        self.0.run(Bare::<Plain<MessagePack>>::SHAPE, body).await
    }

    /// The result of the shared call. Followers get an error made from the message of the leader's.
    ///
    /// It costs what [`run`](Self::run) does.
    ///
    /// # Errors
    ///
    /// Those of `body`, and [`Error`] turned into an `E`: [`Error::Failed`] with the message of another caller's error,
    /// [`Error::WaitTimeout`], [`Error::Abandoned`], and where the policy says so [`Error::Unavailable`] and
    /// [`Error::MissingHeader`].
    pub async fn try_run<T, E, F, Fut>(self, body: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: From<Error> + Display + Send + 'static,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.0
            .run(Fallible::<Plain<MessagePack>, ErrorMessage>::SHAPE, body)
            .await
    }

    /// What [`run`](Self::run) would call, seen from outside: to look, to store, to refresh.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::{Coalescer, DirectCall};
    ///
    /// let coalescer = Coalescer::builder().in_process().build().await?;
    /// let total = coalescer.call("shop::total").key("acme").entry(|| async { 42 });
    /// assert_eq!(total.peek().await?, None, "nothing is run");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn entry<'a, T, F, Fut>(self, body: F) -> Entry<'a, T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce() -> Fut + Send + 'a,
        Fut: Future<Output = T> + Send + 'static,
    {
        self.0.entry(Bare::<Plain<MessagePack>>::SHAPE, body)
    }

    /// What [`try_run`](Self::try_run) would call, seen from outside.
    pub fn try_entry<'a, T, E, F, Fut>(self, body: F) -> Entry<'a, Result<T, E>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: From<Error> + Display + Send + 'static,
        F: FnOnce() -> Fut + Send + 'a,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.0
            .entry(Fallible::<Plain<MessagePack>, ErrorMessage>::SHAPE, body)
    }

    /// Removes the stored value and fences the flight in progress, as [`Entry::invalidate`] does. One round trip.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the coordinator gave no answer: the value may still be there.
    /// [`Error::MissingHeader`].
    pub async fn invalidate(self) -> Result<(), Error> {
        self.entry(|| async {}).invalidate().await
    }
}
