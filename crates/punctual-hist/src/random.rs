//! Pseudo-random numbers that are the same on every machine, so that a result that depends on them can be reproduced.

/// The generator `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Starts the sequence that belongs to `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A random number above 0 and below 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are what a fraction has")]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * f64::EPSILON / 2.0
    }

    /// A random number below `n`, or 0 if `n` is 0. Probabilities differ by less than `n / 2^64`.
    #[allow(clippy::cast_possible_truncation, reason = "the upper half of a product of 64 bits fits into 64")]
    pub fn below(&mut self, n: usize) -> usize {
        (u128::from(self.bits()).saturating_mul(n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // Computed by a separate program from the published algorithm.
        let wanted = [
            0.741_564_878_771_823_4,
            0.159_910_392_876_920_16,
            0.278_601_130_255_138_7,
            0.344_190_716_523_637_6,
            0.038_030_168_540_246_27,
        ];
        let mut random = SplitMix::new(42);
        for value in wanted {
            assert!((random.unit() - value).abs() < 1e-16);
        }
    }

    #[test]
    fn every_place_is_drawn_about_as_often() {
        let mut random = SplitMix::new(1);
        let mut drawn = [0u32; 7];
        (0..70_000).for_each(|_| drawn[random.below(7)] += 1);
        assert!(drawn.iter().all(|n| (9_500..10_500).contains(n)), "{drawn:?}");
        assert_eq!(random.below(0), 0);
    }
}
