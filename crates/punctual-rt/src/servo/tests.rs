//! A simulated remote clock, and the servo that follows it. Deterministic: the noise comes from a seeded generator.

mod figures;
mod laws;

use super::*;
use crate::noise::Noise;

/// A random number with a half-normal distribution, for models of latency.
fn half_normal(noise: &mut Noise, sigma: f64) -> f64 {
    (sigma * noise.normal()).abs()
}

fn outlier(noise: &mut Noise, share: f64, low: f64, high: f64) -> f64 {
    if noise.uniform() < share { low + (high - low) * noise.uniform() } else { 0.0 }
}

/// A model of the latency with which the thread wakes, in us.
#[derive(Clone, Copy, Debug)]
enum Waking {
    /// 12 + |N(0, 5)|, one in a thousand later by 100 to 900.
    Sleep,
    /// 0.05 + |N(0, 0.1)|, one in a thousand later by 20 to 300.
    Hybrid,
    Exact,
}

impl Waking {
    fn late_us(self, noise: &mut Noise) -> f64 {
        match self {
            Self::Sleep => 12.0 + half_normal(noise, 5.0) + outlier(noise, 0.001, 100.0, 900.0),
            Self::Hybrid => 0.05 + half_normal(noise, 0.1) + outlier(noise, 0.001, 20.0, 300.0),
            Self::Exact => 0.0,
        }
    }
}

/// The time of the frame on its path: |N(0, 2)| us, one in two thousand later by 20 to 80.
fn path_us(noise: &mut Noise) -> f64 {
    half_normal(noise, 2.0) + outlier(noise, 0.0005, 20.0, 80.0)
}

/// A simulated grid, and a reference clock that runs faster than the local one.
struct World {
    noise: Noise,
    waking: Waking,
    noisy_path: bool,
    period: Nanos,
    ppm: f64,
    began_off: u64,
    release: MonoTime,
}

const START: MonoTime = MonoTime::from_ns(1_000_000_000);

impl World {
    fn new(period: Nanos, ppm: f64, off: Nanos, waking: Waking) -> Self {
        let noisy_path = !matches!(waking, Waking::Exact);
        Self { noise: Noise::new(42), waking, noisy_path, period, ppm, began_off: off.as_ns(), release: START }
    }

    fn reference_at(&self, local: MonoTime) -> u64 {
        let run = (local - START).as_ns();
        // Distributed clocks count from the year 2000; here from a whole number of periods.
        let since_2000 = (self.period * Nanos::from_secs(800_000_000).whole(self.period)).as_ns();
        since_2000 + self.began_off + run + scaled(run, self.ppm * 1e-6)
    }

    /// The reference and local times that a user would read in this cycle.
    fn stamps(&mut self) -> (u64, MonoTime) {
        let late = self.waking.late_us(&mut self.noise);
        let path = if self.noisy_path { path_us(&mut self.noise) } else { 0.0 };
        let woke = self.release + us(late);
        (self.reference_at(woke + us(path)), woke)
    }

    fn advance(&mut self, steer: Delta) {
        self.release = self.release + self.period + steer;
    }

    /// Reference time at the release modulo the period, folded.
    fn phase_ns(&self) -> f64 {
        fold(self.reference_at(self.release), self.period)
    }
}

fn fold(reference_ns: u64, period: Nanos) -> f64 {
    let rest = Nanos::from_ns(reference_ns.rem_euclid(period.as_ns())).ahead().as_ns();
    let period = period.ahead().as_ns();
    as_ns(if rest > period / 2 { rest - period } else { rest })
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
fn scaled(ns: u64, factor: f64) -> u64 {
    (ns as f64 * factor).round().max(0.0) as u64
}

fn us(us: f64) -> Nanos {
    Nanos::from_ns(scaled(1_000, us))
}

/// The result of a run in us. sd and max are relative to the mean of the last 5/6 of the run, as in a drive that is
/// tuned to this mean.
#[derive(Debug)]
struct PhaseFigures {
    sd: f64,
    max: f64,
    mean: f64,
    settled_s: f64,
    correction_max: f64,
}

fn run(world: &mut World, cycles: usize, mut control: impl FnMut(u64, MonoTime, MonoTime) -> Delta) -> PhaseFigures {
    let (mut phases, mut correction_max) = (Vec::new(), 0.0_f64);
    for _ in 0..cycles {
        phases.push(world.phase_ns() / 1e3);
        let (reference, local) = world.stamps();
        let steer = control(reference, local, world.release);
        correction_max = as_ns(steer.as_ns()).abs().max(correction_max);
        world.advance(steer);
    }
    let settled = &phases[cycles / 6..];
    let mean = settled.iter().sum::<f64>() / as_f64(settled.len());
    let last_out = phases.iter().rposition(|p| (p - mean).abs() > 5.0).map_or(0, |n| n + 1);
    PhaseFigures {
        sd: deviation(settled),
        max: settled.iter().fold(0.0, |most, p| f64::max(most, (p - mean).abs())),
        mean,
        settled_s: as_f64(last_out) * world.period.as_secs_f64(),
        correction_max: correction_max / 1e3,
    }
}

#[allow(clippy::cast_precision_loss, reason = "small")]
fn as_f64(n: usize) -> f64 {
    n as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / as_f64(values.len());
    (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / as_f64(values.len())).sqrt()
}

fn servo(period: Nanos, bandwidth_hz: f64) -> PhaseServo {
    PhaseServo::new(ServoConfig::new(period, bandwidth_hz)).unwrap()
}

const MS: Nanos = Nanos::from_ms(1);

fn usual(waking: Waking) -> World {
    World::new(MS, 30.0, Nanos::from_us(400), waking)
}
