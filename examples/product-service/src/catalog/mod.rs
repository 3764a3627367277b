//! The catalog: the one annotated read, and the write that makes every replica read again.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;

use async_trait::async_trait;
use coalesce::{Coalescer, coalesce};
use serde::{Deserialize, Serialize};
use tokio::task::JoinError;
use tokio_util::task::TaskTracker;

use crate::product::{Changes, Product};

/// Where products come from. PostgreSQL in the service, a counter in unit tests.
#[async_trait]
pub trait Repository: Send + Sync + 'static {
    /// The product with this number, if there is one.
    async fn find(&self, id: i64) -> Result<Option<Product>, DatabaseDown>;

    /// Whether there would be an answer.
    async fn answers(&self) -> bool;

    /// Writes everything but the number, and answers the product as it is now; `None`: no such product.
    async fn update(&self, id: i64, changes: Changes) -> Result<Option<Product>, DatabaseDown>;
}

/// The database gave no answer. Its reason stands in the log of the replica that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the database gave no answer")]
pub struct DatabaseDown;

/// Why a product could not be read. It crosses between replicas: who waited gets the leader's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ReadError {
    /// The database gave no answer.
    #[error("the database gave no answer")]
    Database,
    /// Redis could not be asked, and `on_redis_error` says to fail.
    #[error("the cache gave no answer")]
    Cache,
    /// Somebody else's read did not end in time.
    #[error("the read took too long")]
    TookTooLong,
    /// Read after read ended in a panic.
    #[error("the read failed")]
    Failed,
}

impl From<DatabaseDown> for ReadError {
    fn from(_: DatabaseDown) -> Self {
        Self::Database
    }
}

impl From<coalesce::Error> for ReadError {
    fn from(error: coalesce::Error) -> Self {
        match error {
            coalesce::Error::Unavailable { .. } => Self::Cache,
            coalesce::Error::WaitTimeout { .. } => Self::TookTooLong,
            _ => Self::Failed,
        }
    }
}

/// Why a product could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The database gave no answer: whether the product was written is unknown.
    #[error("the database gave no answer")]
    Database,
    /// It was written, and the cache could not be told: the old product is served until it is no longer
    /// fresh. Writing it again tells the cache again.
    #[error("written, but the cache gave no answer: write it again")]
    Cache,
}

/// Products, read through the cache that the replicas share.
#[derive(Clone)]
pub struct Catalog {
    repository: Arc<dyn Repository>,
    coalescer: Coalescer,
    writes: TaskTracker,
}

impl Catalog {
    /// A catalog of this repository, which shares its reads through this coalescer.
    pub fn new(repository: Arc<dyn Repository>, coalescer: Coalescer) -> Self {
        Self {
            repository,
            coalescer,
            writes: TaskTracker::new(),
        }
    }

    /// The product with this number. Callers in all replicas share one read of the database.
    ///
    /// That there is no such product is an answer like any other, so it is shared and kept like one: a thousand
    /// callers of a missing product are one read. It is kept for `FRESH_TTL` and no longer, because whoever adds a
    /// product elsewhere tells nobody; who adds one here invalidates it as [`write`](Self::write) does. A failure is shared by those who waited for it
    /// and kept for nobody: the next caller asks the database again.
    ///
    /// # Errors
    ///
    /// The leader's, or why there was none to be had.
    #[coalesce(
        key = id,
        coalescer = self.coalescer,
        namespace = "products",
        version = 1,
        fresh_ttl = "${FRESH_TTL:10s}",
        pending_ttl = "${READ_LIMIT:7s}",
        wait_timeout = "${WAIT_TIMEOUT:8s}",
        on_redis_error = "${PRODUCTS_ON_REDIS_ERROR:fail}",
        entry = product_entry,
    )]
    pub async fn product(&self, id: i64) -> Result<Option<Product>, ReadError> {
        Ok(self.repository.find(id).await?)
    }

    /// Whether the database answers. It costs a question.
    pub async fn database_answers(&self) -> bool {
        self.repository.answers().await
    }

    /// Writes a product; the next read in any replica sees it, also while a read is in flight. `None`: no
    /// such product.
    ///
    /// # Errors
    ///
    /// When either the database or the cache gave no answer. Both are mended by writing it again.
    pub async fn write(&self, id: i64, changes: Changes) -> Result<Option<Product>, WriteError> {
        let this = self.clone();
        // In a task of its own: a client that hangs up ends its request, and a commit needs its invalidation.
        let writing = async move { this.write_and_tell(id, changes).await };
        let writing = self.writes.spawn(writing);
        match writing.await.map_err(JoinError::try_into_panic) {
            Ok(written) => written,
            Err(Ok(panic)) => resume_unwind(panic),
            // The process ends.
            Err(Err(_)) => Err(WriteError::Database),
        }
    }

    /// Waits until every write has told the cache, those included whose clients have gone. Whoever ends the coalescer
    /// before leaves an old product behind.
    pub async fn writes_have_ended(&self) {
        self.writes.close();
        self.writes.wait().await;
    }

    async fn write_and_tell(
        &self,
        id: i64,
        changes: Changes,
    ) -> Result<Option<Product>, WriteError> {
        let written = self.repository.update(id, changes).await;
        if written == Ok(None) {
            return Ok(None);
        }
        // After the commit: a read that began before it is fenced, one that begins now finds the new row. A database
        // that gave no answer may have written all the same.
        let told = self.product_entry(id).invalidate().await;
        let product = written.map_err(|DatabaseDown| WriteError::Database)?;
        told.map_err(|_| WriteError::Cache)?;
        Ok(product)
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
