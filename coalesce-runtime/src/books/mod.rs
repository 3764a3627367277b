//! The books: what happened in each namespace, as numbers and histograms, in bounded memory.
//!
//! They are kept in any case and asked for with `Coalescer::snapshot`.

pub(crate) mod measure;
mod page;
pub(crate) mod snapshot;
mod traffic;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use page::Page;
use snapshot::{Counts, NamespaceSnapshot, Snapshot};

use crate::ports::event::Event;
use crate::ports::observer::{Observer, PROCESS};

/// Namespaces with a page of their own; at about 25 kB each. A namespace is a function, so there are
/// not many, unless somebody makes them of arguments.
const PAGES: usize = 512;

/// The built-in observer.
pub(crate) struct Books {
    pages: RwLock<HashMap<Arc<str>, Arc<Page>>>,
    /// What belongs to no call site.
    process: Page,
    /// Namespaces that came when there was no room for more pages.
    others: Page,
    room: usize,
}

impl Default for Books {
    fn default() -> Self {
        Self::with_room_for(PAGES)
    }
}

impl Books {
    fn with_room_for(room: usize) -> Self {
        Self {
            pages: RwLock::default(),
            process: Page::default(),
            others: Page::default(),
            room,
        }
    }

    /// Everything, by namespace.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let namespaces = pages
            .iter()
            .map(|(namespace, page)| (namespace.to_string(), page.snapshot()));
        let others = self.others.snapshot();
        Snapshot {
            namespaces: namespaces.collect(),
            others: (others.calls > 0).then_some(others),
            process: self.process.snapshot(),
            ..Snapshot::default()
        }
    }

    /// The namespaces that have a page.
    pub(crate) fn namespaces(&self) -> Vec<Arc<str>> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.keys().cloned().collect()
    }

    /// One namespace's numbers; `None`: nothing has happened there.
    pub(crate) fn of(&self, namespace: &str) -> Option<NamespaceSnapshot> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        pages.get(namespace).map(|page| page.snapshot())
    }

    /// The sums over all namespaces.
    pub(crate) fn counts(&self) -> Counts {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let mut counts = Counts::default();
        for page in pages.values().map(|page| &**page).chain([&self.others]) {
            page.add_to(&mut counts);
        }
        counts
    }

    /// A new namespace, if there is room for it.
    fn open_page(&self, namespace: &str) -> Option<Arc<Page>> {
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        let full = pages.len() >= self.room;
        if full && !pages.contains_key(namespace) {
            return None;
        }
        let page = pages.entry(Arc::from(namespace)).or_default();
        Some(Arc::clone(page))
    }
}

impl Observer for Books {
    fn record(&self, namespace: &str, event: &Event) {
        if namespace == PROCESS {
            return self.process.record(event);
        }
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        match pages.get(namespace) {
            Some(page) => page.record(event),
            None if pages.len() >= self.room => self.others.record(event),
            None => {
                drop(pages);
                match self.open_page(namespace) {
                    Some(page) => page.record(event),
                    None => self.others.record(event),
                }
            }
        }
    }
}

impl fmt::Debug for Books {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Books")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ports::event::CallOutcome;

    fn call(books: &Books, namespace: &str, outcome: CallOutcome) {
        let fresh_ttl = Duration::ZERO;
        let key = Some(1);
        books.record(namespace, &Event::CallStarted { key, fresh_ttl });
        let took = Duration::from_millis(3);
        books.record(namespace, &Event::CallEnded { outcome, took });
    }

    #[test]
    fn each_namespace_has_a_page_until_the_room_is_full_and_nothing_is_lost_behind_that() {
        let books = Books::with_room_for(2);
        for namespace in ["a", "b", "c", "d", "a"] {
            call(&books, namespace, CallOutcome::Led);
        }
        let snapshot = books.snapshot();
        let calls: Vec<_> = snapshot
            .namespaces
            .iter()
            .map(|(namespace, page)| (&**namespace, page.calls))
            .collect();
        assert_eq!(calls, [("a", 2), ("b", 1)]);
        assert_eq!(snapshot.others.unwrap().outcomes.led, 2);
        assert_eq!(books.counts().led, 5);
        assert!(books.of("a").is_some() && books.of("c").is_none());
    }

    #[test]
    fn what_belongs_to_no_call_site_is_in_nobodys_page() {
        let books = Books::default();
        let took = Duration::from_millis(1);
        let operation = crate::ports::event::Operation::Renew;
        books.record(PROCESS, &Event::RoundTrip { operation, took });
        let snapshot = books.snapshot();
        assert_eq!(snapshot.process.round_trips.renew, 1);
        assert!(snapshot.namespaces.is_empty() && snapshot.others.is_none());
    }
}
