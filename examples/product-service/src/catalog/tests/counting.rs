//! A repository that counts its reads, takes its time, and fails when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::lamp;
use crate::catalog::{DatabaseDown, Repository};
use crate::product::{Changes, Product};

/// A table of one row.
pub(super) struct Counting {
    reads: AtomicU64,
    takes: Duration,
    /// How many of the next reads fail.
    pub(super) fails: AtomicU64,
    /// How long a write takes to say that it is done.
    pub(super) confirms_in: Mutex<Duration>,
    /// Whether nobody hears that a write is done.
    pub(super) is_cut_off: AtomicBool,
    pub(super) row: Mutex<Option<Product>>,
}

impl Counting {
    pub(super) fn with(row: Option<Product>) -> Arc<Self> {
        Self::that_takes(Duration::from_millis(100), row)
    }

    pub(super) fn that_takes(takes: Duration, row: Option<Product>) -> Arc<Self> {
        Arc::new(Self {
            reads: AtomicU64::new(0),
            takes,
            fails: AtomicU64::new(0),
            confirms_in: Mutex::default(),
            is_cut_off: AtomicBool::new(false),
            row: Mutex::new(row),
        })
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Repository for Counting {
    async fn find(&self, _id: i64) -> Result<Option<Product>, DatabaseDown> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let row = self.row.lock().await.clone();
        sleep(self.takes).await;
        let fails = |left: u64| left.checked_sub(1);
        let failed = self
            .fails
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails);
        failed.map_or(Ok(row), |_| Err(DatabaseDown))
    }

    async fn answers(&self) -> bool {
        true
    }

    async fn update(&self, id: i64, changes: Changes) -> Result<Option<Product>, DatabaseDown> {
        let mut row = self.row.lock().await;
        if row.is_some() {
            *row = Some(Product {
                id,
                name: changes.name,
                ..lamp()
            });
        }
        let written = row.clone();
        drop(row);
        sleep(*self.confirms_in.lock().await).await;
        if self.is_cut_off.load(Ordering::SeqCst) {
            return Err(DatabaseDown);
        }
        Ok(written)
    }
}
