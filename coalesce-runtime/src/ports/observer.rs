//! The observer: what happened, counted. Nothing here costs a round trip.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a coalescer has counted since it was built.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters behind [`Counts`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Counts {
                Counts { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Calls answered by a fresh stored value.
    fresh,
    /// Calls answered by a stale stored value.
    stale,
    /// Calls whose own body was the flight.
    led,
    /// Calls answered by a flight that another call led, here or in another process.
    followed,
    /// Calls that ran as if the attribute were not there.
    bypassed,
    /// Calls that waited for `wait_timeout`.
    timed_out,
    /// Calls that got an error of ours other than a wait timeout.
    failed,
    /// Calls that ran their body because as much was in progress in this process as may be.
    capped,
    /// Bodies started: for a flight, a refresh, or for this process alone.
    executions,
    /// Bodies started for this process alone: a marker, a timeout, or no coordinator.
    solo_runs,
    /// Flights led after another leader's lease had ended or it had given up.
    takeovers,
    /// Refreshes started.
    refreshes,
    /// Refreshes that ended without a value.
    refresh_failures,
    /// Outcomes refused because the flight was no longer the key's.
    fenced,
    /// Values above `max_payload`, or not encodable.
    too_large,
    /// Stored bytes that could not be read.
    undecodable,
    /// Questions to the coordinator without a usable answer.
    faults,
}

/// One number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
