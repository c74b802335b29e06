//! The configuration of a servo, and the check of its values.
//!
//! This module alone knows which values can work. It does not know how they are used.

use super::rounded;
use crate::error::ServoRefusal;
use punctual_hist::{Delta, Nanos};

/// The largest stable ωT, with which the servo begins.
pub(super) const WIDEST: f64 = 0.1;
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The configuration of a [`PhaseServo`](super::PhaseServo).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoConfig {
    /// The nominal period of the task, and the modulus of the phase; at most an hour.
    pub period: Nanos,
    /// Natural frequency of the loop in Hz, `ω/2π`: errors settle in about 1 / `bandwidth_hz` seconds, and faster
    /// disturbances are averaged. 0.5 to 1 suits a reference that jitters by microseconds. At most `0.1/(2π·period)`.
    pub bandwidth_hz: f64,
    /// Damping ζ, 0.3 to 3; 1 is critical damping.
    pub damping: f64,
    /// Wanted reading of the reference clock at the releases, modulo the period.
    pub target: Delta,
    /// Limits that the servo keeps.
    pub limits: ServoLimits,
}

impl ServoConfig {
    /// A configuration with critical damping, releases at the reference's multiples of the period, and usual limits.
    pub const fn new(period: Nanos, bandwidth_hz: f64) -> Self {
        Self { period, bandwidth_hz, damping: 1.0, target: Delta::ZERO, limits: ServoLimits::USUAL }
    }

    /// The largest stable bandwidth for this period, in Hz.
    pub(super) fn widest_hz(&self) -> f64 {
        WIDEST / (core::f64::consts::TAU * self.period.as_secs_f64())
    }

    pub(super) fn checked(&self) -> Result<(), ServoRefusal> {
        let limits = &self.limits;
        let within = |value: f64, low: f64, high: f64| value >= low && value <= high;
        if self.period == Nanos::ZERO || self.period.as_ns() > LONGEST_NS {
            return Err(ServoRefusal::Period);
        }
        if !within(self.bandwidth_hz, f64::MIN_POSITIVE, f64::MAX) {
            return Err(ServoRefusal::Bandwidth);
        }
        if self.bandwidth_hz > self.widest_hz() {
            return Err(ServoRefusal::TooWide { most_millihertz: rounded(self.widest_hz() * 1e3).length().as_ns() });
        }
        if !within(self.damping, 0.3, 3.0) {
            return Err(ServoRefusal::Damping);
        }
        if limits.step == Nanos::ZERO || limits.step * 2 > self.period {
            return Err(ServoRefusal::Step);
        }
        if !within(limits.frequency_ppm, 0.0, 100_000.0) {
            return Err(ServoRefusal::Frequency);
        }
        if limits.lock == Nanos::ZERO {
            return Err(ServoRefusal::Lock);
        }
        Ok(())
    }
}

/// Limits that a [`PhaseServo`](super::PhaseServo) keeps, and its lock window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoLimits {
    /// The largest distance by which one cycle is moved; above zero, at most half the period. Usually 5 us.
    pub step: Nanos,
    /// The largest learned difference between the rates of the clocks, in parts per million, up to 100 000. Usually
    /// 1000.
    pub frequency_ppm: f64,
    /// The servo is locked when the error is below this, and no longer locked when it is above twice this. Usually 5
    /// us.
    pub lock: Nanos,
}

impl ServoLimits {
    /// At most 5 us per cycle and 1000 ppm; locked within 5 us.
    pub const USUAL: Self = Self { step: Nanos::from_us(5), frequency_ppm: 1000.0, lock: Nanos::from_us(5) };
}

impl Default for ServoLimits {
    fn default() -> Self {
        Self::USUAL
    }
}
