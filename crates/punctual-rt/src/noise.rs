//! Random numbers for tests, the same on every run.

use punctual_hist::SplitMix;

pub(crate) struct Noise(SplitMix);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.bits() % limit
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
