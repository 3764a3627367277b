//! Known namespaces: those of the program's call sites and those that have been called, told to the fleet.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::builder::sites;
use super::coalescer::{Coalescer, Inner};
use crate::words::fault::Fault;
use crate::words::known::{is_about, said_of_function, said_of_namespace};

/// How soon the fleet learns of a namespace that was called for the first time.
const LOOK: Duration = Duration::from_secs(10);

/// How long what was said counts: an incident may well have ended every process that knew the name.
const LIFE: Duration = Duration::from_hours(1);

/// How often it is said again, as a number of looks: every ten minutes.
const AGAIN: u32 = 60;

/// Tells the fleet what this process knows, when there is something new and every ten minutes. No call waits for it.
pub(super) async fn announce(coalescer: Weak<Inner>) {
    let mut told = BTreeSet::new();
    let mut looks = 0;
    loop {
        let Some(inner) = coalescer.upgrade() else {
            return;
        };
        let known = Coalescer(inner).said();
        if looks % AGAIN == 0 || !known.is_subset(&told) {
            let names: Vec<_> = known.iter().cloned().collect();
            let Some(inner) = coalescer.upgrade() else {
                return;
            };
            let coordinator = Arc::clone(&inner.core.coordinator);
            drop(inner);
            if names.is_empty() || coordinator.announce(&names, LIFE).await.is_ok() {
                told = known;
            }
        }
        looks += 1;
        tokio::time::sleep(LOOK).await;
    }
}

impl Coalescer {
    /// What this process can say of the namespaces that it knows.
    fn said(&self) -> BTreeSet<String> {
        let of_sites = sites().map(|site| match self.policy_of(site).namespace.as_deref() {
            Some(namespace) => said_of_namespace(namespace),
            None => said_of_function(site.place.module, site.function),
        });
        let called = self.0.books.namespaces();
        of_sites
            .chain(called.iter().map(|name| said_of_namespace(name)))
            .collect()
    }

    /// Whether this process or, by its own word of the last hour, any other of the fleet has such a namespace.
    /// Costs a round trip where this process has not, and fails where that gets no answer.
    pub(crate) async fn knows(&self, namespace: &str) -> Result<bool, Fault> {
        let mut here = self.said().into_iter();
        if here.any(|said| is_about(&said, namespace)) {
            return Ok(true);
        }
        let there = self.0.core.coordinator.announced().await?;
        Ok(there.iter().any(|said| is_about(said, namespace)))
    }
}
