//! Metrics: the events of a coalescer in the words of the `metrics` facade, for whatever exporter is installed.
//!
//! `docs/metrics.md` lists them all; a test compares it with [`table::METRICS`].

mod namespace;
pub(crate) mod table;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use namespace::Instruments;
use table::{BREAKER, CONNECTED, FLIGHTS, Kind, METRICS, SUBSCRIBED, SUBSCRIPTIONS, WAITERS};

use crate::ports::event::Event;
use crate::ports::health::{BreakerState, CoordinatorHealth};
use crate::ports::observer::Observer;

/// Namespaces with series of their own.
const ROOM: usize = 512;

/// The label of all others.
const OTHERS: &str = "(others)";

/// Tells the recorder of the `metrics` facade.
///
/// Handles are made once per namespace and kept, so an event costs a look-up and an addition. They belong to
/// the recorder that is installed when the first call of the namespace comes in.
#[derive(Debug)]
pub(crate) struct Recorded {
    namespaces: RwLock<HashMap<Arc<str>, Arc<Instruments>>>,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        for metric in METRICS {
            match metric.kind {
                Kind::Counter => {
                    ::metrics::describe_counter!(metric.name, metric.unit, metric.help);
                }
                Kind::Gauge => ::metrics::describe_gauge!(metric.name, metric.unit, metric.help),
                Kind::Histogram => {
                    ::metrics::describe_histogram!(metric.name, metric.unit, metric.help);
                }
            }
        }
        Self {
            namespaces: RwLock::default(),
        }
    }

    fn open(&self, namespace: &str) -> Arc<Instruments> {
        let mut namespaces = self
            .namespaces
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let full = namespaces.len() >= ROOM && !namespaces.contains_key(namespace);
        let label: Arc<str> = Arc::from(if full { OTHERS } else { namespace });
        let made = namespaces
            .entry(Arc::clone(&label))
            .or_insert_with(|| Arc::new(Instruments::of(&label)));
        Arc::clone(made)
    }
}

impl Observer for Recorded {
    fn record(&self, namespace: &str, event: &Event) {
        let namespaces = self
            .namespaces
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let full = namespaces.len() > ROOM;
        let others = || full.then(|| namespaces.get(OTHERS)).flatten();
        if let Some(instruments) = namespaces.get(namespace).or_else(others) {
            return instruments.record(event);
        }
        drop(namespaces);
        self.open(namespace).record(event);
    }
}

/// Shows what no event tells of.
pub(crate) fn show_gauges(
    flights: u32,
    waiters: u32,
    subscriptions: u32,
    health: &CoordinatorHealth,
) {
    let breaker = match health.breaker {
        BreakerState::Closed => 0,
        BreakerState::HalfOpen => 1,
        BreakerState::Open => 2,
    };
    ::metrics::gauge!(CONNECTED).set(u32::from(health.connected));
    ::metrics::gauge!(SUBSCRIBED).set(u32::from(health.subscribed));
    ::metrics::gauge!(BREAKER).set(breaker);
    ::metrics::gauge!(FLIGHTS).set(flights);
    ::metrics::gauge!(WAITERS).set(waiters);
    ::metrics::gauge!(SUBSCRIPTIONS).set(subscriptions);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::event::Incident;

    #[test]
    fn namespaces_made_of_arguments_do_not_make_series_without_end() {
        let recorded = Recorded::new();
        for number in 0..2 * ROOM {
            recorded.record(&number.to_string(), &Event::Incident(Incident::Fenced));
        }
        let namespaces = recorded.namespaces.read().unwrap();
        assert_eq!(namespaces.len(), ROOM + 1);
        assert!(namespaces.contains_key(OTHERS));
    }
}
