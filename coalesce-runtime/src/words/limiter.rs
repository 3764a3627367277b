//! The limiter: something is done now and then, such as a line logged, and what is left out in between is counted.

use std::time::Duration;

use super::clock::Instant;

/// How often one line may be said.
const PAUSE: Duration = Duration::from_secs(10);

/// When one line was said last, and how many have been left out since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limiter {
    next: Option<Instant>,
    left_out: u64,
}

impl Limiter {
    /// Whether the line is said, and how many were left out before it; `None`: it is left out as well.
    pub(crate) fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.next.is_some_and(|next| now < next) {
            self.left_out += 1;
            return None;
        }
        self.next = Some(now + PAUSE);
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::clock::now;

    #[test]
    fn one_line_in_ten_seconds_and_the_next_one_counts_those_left_out() {
        let (start, mut limiter) = (now(), Limiter::default());
        assert_eq!(limiter.admit(start), Some(0));
        for milliseconds in [0, 5_000, 9_999] {
            let at = start + Duration::from_millis(milliseconds);
            assert_eq!(limiter.admit(at), None);
        }
        assert_eq!(limiter.admit(start + PAUSE), Some(3));
        assert_eq!(limiter.admit(start + 3 * PAUSE), Some(0));
    }
}
