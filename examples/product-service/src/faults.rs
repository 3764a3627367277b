//! A repository in front of another one: it counts and measures reads, and makes them slow or fail on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::catalog::{DatabaseDown, Repository};
use crate::product::{Changes, Product};

/// What is wrong with the database on purpose, and how often it was read.
#[derive(Debug, Default)]
pub struct Faults {
    delay_ms: AtomicU64,
    fails: AtomicBool,
    reads: AtomicU64,
}

/// What an operator asks for; what is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultsWanted {
    /// Each read takes so much longer.
    pub database_delay_ms: Option<u64>,
    /// Each read fails, behind its delay.
    pub database_fails: Option<bool>,
}

/// What is wrong at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FaultsNow {
    /// Each read takes so much longer.
    pub database_delay_ms: u64,
    /// Each read fails.
    pub database_fails: bool,
}

impl Faults {
    /// The longest delay that can be asked for.
    pub const LONGEST_DELAY: Duration = Duration::from_secs(60);

    /// A database that takes this much longer, and that may fail.
    pub fn new(delay: Duration, fails: bool) -> Self {
        Self {
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).into(),
            fails: fails.into(),
            reads: AtomicU64::default(),
        }
    }

    /// Changes what is asked for.
    pub fn change(&self, wanted: FaultsWanted) {
        if let Some(delay_ms) = wanted.database_delay_ms {
            self.delay_ms.store(delay_ms, Ordering::Relaxed);
        }
        if let Some(fails) = wanted.database_fails {
            self.fails.store(fails, Ordering::Relaxed);
        }
    }

    /// What is wrong at the moment.
    pub fn now(&self) -> FaultsNow {
        FaultsNow {
            database_delay_ms: self.delay_ms.load(Ordering::Relaxed),
            database_fails: self.fails.load(Ordering::Relaxed),
        }
    }

    /// How many reads have begun.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

/// The repository that is asked through these faults.
#[derive(Debug)]
pub struct Faulty<R> {
    inner: R,
    faults: Arc<Faults>,
}

impl<R> Faulty<R> {
    /// `inner`, as slow and as broken as `faults` says.
    pub const fn new(inner: R, faults: Arc<Faults>) -> Self {
        Self { inner, faults }
    }
}

#[async_trait]
impl<R: Repository> Repository for Faulty<R> {
    async fn find(&self, id: i64) -> Result<Option<Product>, DatabaseDown> {
        self.faults.reads.fetch_add(1, Ordering::Relaxed);
        metrics::counter!("product_database_reads_total").increment(1);
        let begun = Instant::now();
        let FaultsNow {
            database_delay_ms,
            database_fails,
        } = self.faults.now();
        let found = if database_fails {
            Err(DatabaseDown)
        } else {
            self.inner.find(id).await
        };
        // Behind the read: what is on its way is then as old as a slow answer can be.
        tokio::time::sleep(Duration::from_millis(database_delay_ms)).await;
        metrics::histogram!("product_database_read_seconds").record(begun.elapsed());
        found
    }

    async fn answers(&self) -> bool {
        self.inner.answers().await
    }

    async fn update(&self, id: i64, changes: Changes) -> Result<Option<Product>, DatabaseDown> {
        if self.faults.now().database_fails {
            return Err(DatabaseDown);
        }
        self.inner.update(id, changes).await
    }
}
