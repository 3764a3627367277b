//! Traffic: how many calls of how many keys came lately, in bounded memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use hyperloglockless::AtomicHyperLogLog;

use super::measure::to_f64;
use super::snapshot::Traffic;
use crate::words::clock::{Instant, now};

/// A window's length, at least: it ends with the first call behind that.
const WINDOW: Duration = Duration::from_secs(60);

/// What came in a window that is younger than so many seconds came in as many: a first call after a millisecond
/// does not mean a thousand in a second.
const YOUNG: f64 = 5.0;

/// 1 kB for each window; a count of keys is right within about 3 %.
const PRECISION: u8 = 10;

/// What came in the running window, and in the one before.
pub(super) struct Recent(RwLock<Windows>);

struct Windows {
    running: Window,
    last: Option<Traffic>,
}

struct Window {
    began: Instant,
    calls: AtomicU64,
    keys: AtomicHyperLogLog,
}

impl Window {
    fn new() -> Self {
        Self {
            began: now(),
            calls: AtomicU64::new(0),
            // Fingerprints of keys are as good as random; nothing is hashed once more.
            keys: AtomicHyperLogLog::seeded(PRECISION, 0),
        }
    }

    fn note(&self, key: u64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.keys.insert_hash(key);
    }

    fn traffic(&self, at: Instant) -> Traffic {
        let seconds = at.saturating_duration_since(self.began).as_secs_f64();
        let calls = self.calls.load(Ordering::Relaxed);
        let keys = self.keys.raw_count().max(0.0).min(to_f64(calls));
        let rate = if keys < 0.5 {
            0.0
        } else {
            to_f64(calls) / keys / seconds.max(YOUNG)
        };
        Traffic {
            seconds,
            calls,
            keys,
            calls_per_key_and_second: rate,
        }
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self(RwLock::new(Windows {
            running: Window::new(),
            last: None,
        }))
    }
}

impl Recent {
    pub(super) fn note(&self, key: u64) {
        let at = now();
        let windows = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if at < windows.running.began + WINDOW {
            return windows.running.note(key);
        }
        drop(windows);
        let mut windows = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if windows.running.began + WINDOW <= at {
            windows.last = Some(windows.running.traffic(at));
            windows.running = Window::new();
        }
        windows.running.note(key);
    }

    /// The last window, or the running one when there is no other or that was long ago.
    pub(super) fn traffic(&self) -> Traffic {
        let windows = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let running = windows.running.traffic(now());
        match windows.last {
            Some(last) if running.seconds < WINDOW.as_secs_f64() => last,
            _ => running,
        }
    }
}

impl std::fmt::Debug for Recent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::key::Key;

    #[tokio::test(start_paused = true)]
    async fn keys_and_their_rate_are_found_within_a_tenth() {
        let recent = Recent::default();
        for number in 0..20_000_u32 {
            recent.note(Key::new("n", &[&(number % 5_000)]).fingerprint());
        }
        tokio::time::advance(Duration::from_secs(40)).await;
        let Traffic {
            calls,
            keys,
            calls_per_key_and_second: rate,
            ..
        } = recent.traffic();
        assert_eq!(calls, 20_000);
        assert!((keys / 5_000.0 - 1.0).abs() < 0.1, "{keys}");
        assert!((rate / 0.1 - 1.0).abs() < 0.1, "{rate}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_that_has_only_begun_promises_no_great_rate() {
        let recent = Recent::default();
        for age in [0, 1, 1_000] {
            recent.note(1);
            tokio::time::advance(Duration::from_millis(age)).await;
            let rate = recent.traffic().calls_per_key_and_second;
            assert!(rate > 0.0 && rate < 0.65, "{rate} after {age} ms");
        }
        tokio::time::advance(Duration::from_millis(8_999)).await;
        let rate = recent.traffic().calls_per_key_and_second;
        assert!((rate - 0.3).abs() < 0.03, "{rate}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_ends_and_is_forgotten_when_it_is_long_ago() {
        let recent = Recent::default();
        for key in [1, u64::MAX / 3] {
            recent.note(key);
        }
        tokio::time::advance(WINDOW).await;
        recent.note(1);
        assert_eq!(recent.traffic().calls, 2, "the window before");
        tokio::time::advance(WINDOW).await;
        assert_eq!(
            recent.traffic().calls,
            1,
            "the running one, which is longer by now"
        );
    }
}
