//! Dice: every draw of a seed is its own, so that one more question somewhere does not change all others.

use std::time::Duration;

/// Draws for one occasion.
pub struct Dice(fastrand::Rng);

impl Dice {
    /// The draws of `seed` for the occasion that these numbers name.
    pub fn of(seed: u64, occasion: &[u64]) -> Self {
        let mix = |mixed: u64, part: &u64| {
            // splitmix64: neighbouring seeds must not draw alike.
            let mut z = mixed
                .wrapping_add(*part)
                .wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self(fastrand::Rng::with_seed(
            occasion.iter().fold(mix(0, &seed), mix),
        ))
    }

    /// Whether something happens that happens so often.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.f64() < probability
    }

    /// A number from `least` to `most`.
    pub fn number(&mut self, least: usize, most: usize) -> usize {
        self.0.usize(least..=most)
    }

    /// A span of whole milliseconds.
    pub fn span(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.0.u64(least..=most))
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.usize(..choices.len())]
    }
}

impl Dice {
    /// One of these, to be changed.
    pub fn one_of_mut<'a, T, const N: usize>(&mut self, choices: [&'a mut T; N]) -> &'a mut T {
        let chosen = self.0.usize(..N);
        let mut choices = choices.into_iter();
        choices.nth(chosen).expect("one of them")
    }
}
