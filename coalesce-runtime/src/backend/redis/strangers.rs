//! Nodes that another has named. They may serve no slot yet, or not that anybody else has heard of.

use std::collections::HashMap;
use std::time::Duration;

use super::slots::Place;
use crate::words::clock::Instant;

/// A node is kept for so long after it was named last, whatever the table says.
const STAY: Duration = Duration::from_secs(5);

/// Nodes that another has named, and when it did so last.
#[derive(Debug, Default)]
pub(super) struct Strangers(HashMap<Place, Instant>);

impl Strangers {
    pub(super) fn note(&mut self, place: &Place, now: Instant) {
        self.0.insert(place.clone(), now);
    }

    /// Forgets those that were not named for a while.
    pub(super) fn forget(&mut self, now: Instant) {
        self.0.retain(|_, named| now < *named + STAY);
    }

    pub(super) fn has(&self, place: &Place) -> bool {
        self.0.contains_key(place)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.0.keys()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::clock::now;

    #[test]
    fn a_node_is_kept_for_five_seconds_from_the_last_time_that_it_was_named() {
        let (mut strangers, start) = (Strangers::default(), now());
        let [often, once] = [1, 2].map(|port| Place::new("h", port));
        strangers.note(&once, start);
        strangers.note(&often, start);
        strangers.note(&often, start + STAY / 2);
        let mut kept_at = |at| {
            strangers.forget(start + at);
            [&often, &once].map(|place| strangers.has(place))
        };
        assert_eq!(kept_at(STAY / 2), [true, true]);
        assert_eq!(kept_at(STAY), [true, false]);
        assert!(strangers.places().eq([&often]) && !strangers.is_empty());
        strangers.forget(start + STAY * 3 / 2);
        assert!(!strangers.has(&often) && strangers.is_empty());
    }
}
