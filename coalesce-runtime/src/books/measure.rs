//! Measures: tallies and histograms that many threads write at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use histogram::{AtomicHistogram, Bucket, Config};

use super::snapshot::Distribution;

/// A bucket is at most a sixteenth of its value wide: three digits would be more than anybody asks for.
const GROUPING_POWER: u8 = 4;

/// Values above this power of two are counted as that: 19 hours in microseconds, 64 GiB in bytes.
const MAX_VALUE_POWER: u8 = 36;

/// One number for each word of a closed set.
#[derive(Debug)]
pub(super) struct Tally<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Tally<N> {
    pub(super) fn up(&self, word: usize) {
        self.add(word, 1);
    }

    pub(super) fn add(&self, word: usize, amount: u64) {
        if let Some(number) = self.0.get(word) {
            number.fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(super) fn get(&self, word: usize) -> u64 {
        self.0
            .get(word)
            .map_or(0, |number| number.load(Ordering::Relaxed))
    }

    pub(super) fn total(&self) -> u64 {
        (0..N).map(|word| self.get(word)).sum()
    }
}

/// How values are distributed, in about 4 kB.
#[derive(Debug)]
pub(super) struct Measure {
    buckets: Option<AtomicHistogram>,
    sum: AtomicU64,
}

impl Default for Measure {
    fn default() -> Self {
        let config = Config::new(GROUPING_POWER, MAX_VALUE_POWER);
        Self {
            // The two powers fit together, so there always is one.
            buckets: config.ok().as_ref().map(AtomicHistogram::with_config),
            sum: AtomicU64::new(0),
        }
    }
}

impl Measure {
    pub(super) fn record(&self, value: u64) {
        let value = value.min((1 << MAX_VALUE_POWER) - 1);
        self.sum.fetch_add(value, Ordering::Relaxed);
        if let Some(buckets) = &self.buckets {
            // Nothing is out of range any more.
            let _ = buckets.increment(value);
        }
    }

    pub(super) fn record_duration(&self, duration: Duration) {
        self.record(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    /// Its shape; each value is multiplied by `unit`.
    pub(super) fn distribution(&self, unit: f64) -> Distribution {
        let Some(buckets) = self.buckets.as_ref().map(AtomicHistogram::load) else {
            return Distribution::default();
        };
        let at = |quantile| {
            let bucket = buckets.quantile_bucket(quantile).ok().flatten();
            bucket
                .as_ref()
                .map_or(0.0, |bucket| middle_of(bucket) * unit)
        };
        Distribution {
            count: buckets.as_slice().iter().sum(),
            sum: to_f64(self.sum.load(Ordering::Relaxed)) * unit,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

/// Small values have a bucket of their own; others are in the middle of one.
fn middle_of(bucket: &Bucket) -> f64 {
    f64::midpoint(to_f64(bucket.start()), to_f64(bucket.end()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a sum above 2^53 is not read to its last digit"
)]
pub(crate) fn to_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_sixteenth() {
        let measure = Measure::default();
        for millis in 1..=1000 {
            measure.record_duration(Duration::from_millis(millis));
        }
        let seconds = measure.distribution(1e-6);
        assert_eq!(seconds.count, 1000);
        assert!((seconds.sum - 500.5).abs() < 1e-6, "{}", seconds.sum);
        for (found, right) in [
            (seconds.p50, 0.5),
            (seconds.p90, 0.9),
            (seconds.p99, 0.99),
            (seconds.max, 1.0),
        ] {
            assert!((found / right - 1.0).abs() < 1.0 / 16.0, "{found} {right}");
        }
    }

    #[test]
    fn what_is_beyond_the_scale_is_counted_at_its_end() {
        let measure = Measure::default();
        measure.record(u64::MAX);
        let found = measure.distribution(1.0);
        assert_eq!(found.count, 1);
        assert!(found.max > 6e10);
        assert_eq!(
            Measure::default().distribution(1.0),
            Distribution::default()
        );
    }
}
