//! Steers a task so that its releases keep a fixed phase to another clock: `EtherCAT` distributed clocks, PTP, or a
//! hardware pulse.
//!
//! Pure arithmetic: the servo reads no clock and knows nothing of tasks, sleeping or field buses. It is given pairs of
//! times and returns by how much to move the next release; the grid moves it.
//!
//! # What to pass, and when
//! Once per cycle, after the reference was read:
//! * `reference_ns`: the reading of the reference clock at some event, for instance when the frame passed the reference
//!   slave;
//! * `local`: `CLOCK_MONOTONIC` at *the same event*, for instance just before the frame was sent, or half-way between
//!   sending and receiving;
//! * `release`: the planned instant of this cycle ([`Wake::release`](crate::Wake)), *not* when the thread woke.
//!
//! The error is the reference's time at the release, modulo the period, minus the target: `(reference + (release −
//! local) − target) mod period`, folded to (−period/2, period/2]. Both clocks are read at the same event. So the
//! latency of the thread and the time it worked before the event cancel out. A constant delay between the two readings
//! is a constant phase, which the target compensates.
//!
//! ```
//! use punctual_rt::servo::{PhaseServo, ServoConfig};
//! use punctual_rt::{Delta, MonoTime, Nanos};
//!
//! let period = Nanos::from_ms(1);
//! let mut servo = PhaseServo::new(ServoConfig::new(period, 1.0))?;
//! let mut release = MonoTime::from_ns(1_000_000_000);
//! for _ in 0..2_000 {
//!     let local = release + Nanos::from_us(30); // The thread woke, and sent its frame 30 us after the release …
//!     let reference = local.as_ns() + 300_000; // … past a clock that is 300 us ahead.
//!     let steer = servo.sample(reference, local, release);
//!     release = release + period + steer; // What `steer` of a task does.
//! }
//! assert!(servo.locked() && servo.error().length() < Nanos::from_ns(10));
//! assert_eq!((release.as_ns() + 300_000) % 1_000_000, 0);
//! # Ok::<(), punctual_rt::Error>(())
//! ```
//!
//! # How it works
//! * A proportional-integral controller, whose gains follow from bandwidth and period (`kp = 2ζωT`, `ki = (ωT)²`). So
//!   the same bandwidth settles in the same time at every period.
//! * The median of the last five errors is used. Each error is first carried forward by the movement of the grid and
//!   the learned drift, so that the median neither lags nor reduces stability.
//! * A sample too far from its expected value is ignored. Many of these in a row are taken as a step of the reference,
//!   and the servo starts again.
//! * A distance too long for the controller is *walked*, as fast as the step limit allows, while the controller holds
//!   the phase on the way. So neither a first approach of half a period nor a new target causes windup or overshoot.
//! * The bandwidth is wide at first and narrows as `2/(n·T)` after n samples, as in the fit of a line, so there is no
//!   sudden change.

mod config;
mod filter;
#[cfg(test)]
mod tests;
mod widen;

pub use crate::error::ServoRefusal;
use crate::{ConfigError, Error};
use config::WIDEST;
pub use config::{ServoConfig, ServoLimits};
use filter::Filter;
use punctual_hist::{Delta, MonoTime, Nanos};
pub use widen::Widener;

/// The part of the step limit that walking uses; the rest is left to the controller.
const WALKING_SHARE: f64 = 0.75;
/// Largest error that the controller handles, in lock windows. A larger error is walked off.
const LINEAR_WINDOWS: f64 = 4.0;
/// After this number of cycles in a row beyond [`LINEAR_WINDOWS`], the learned values are wrong, and the bandwidth is
/// widened again.
const STRAINED_FOR: u32 = 16;

/// Keeps a grid's releases at a fixed phase to a reference clock. The [module](self) describes what to pass, and when.
#[derive(Clone, Copy, Debug)]
pub struct PhaseServo {
    config: ServoConfig,
    /// The final product ωT of bandwidth and period.
    narrow: f64,
    filter: Filter,
    /// How much faster the reference runs than the local clock, as learned: a ratio minus 1.
    frequency: f64,
    /// Distance that is still to be walked, in ns: how far from the target the controller holds the phase at present.
    walk: f64,
    /// Number of samples since the bandwidth began to narrow.
    age: f64,
    /// Number of cycles in a row with an error larger than the controller handles.
    strained: u32,
    /// Remainder of rounding to whole nanoseconds, in ns.
    carry: f64,
    /// The latest sampled release.
    release: Option<MonoTime>,
    /// How far the releases were moved since the last sample, in ns.
    moved: f64,
    /// Time since the last sample, in ns.
    elapsed: f64,
    /// The filtered error at the latest known release, in ns.
    error: f64,
    /// Confidence in the lock: 0 if not locked, up to 1 if locked for a long time.
    confidence: f64,
    locked: bool,
}

impl PhaseServo {
    /// Makes a servo without any samples.
    ///
    /// # Errors
    /// [`ConfigError::Servo`] states which value cannot be used.
    ///
    /// # Real-time
    /// Allocates nothing. The servo takes 216 bytes.
    pub fn new(config: ServoConfig) -> Result<Self, Error> {
        config.checked().map_err(ConfigError::Servo)?;
        let mut servo = Self {
            config,
            narrow: 0.0,
            filter: Filter::default(),
            frequency: 0.0,
            walk: 0.0,
            age: 0.0,
            strained: 0,
            carry: 0.0,
            release: None,
            moved: 0.0,
            elapsed: 0.0,
            error: 0.0,
            confidence: 0.0,
            locked: false,
        };
        servo.configure(config);
        Ok(servo)
    }

    /// Returns by how much to move the next release, from the readings of both clocks at one event and this cycle's
    /// planned release. The result is within the step limit, and zero until five samples were seen.
    ///
    /// The effect of earlier results need not be reported, because it shows in `release`. Extend a `reference_ns` of
    /// only 32 bits with a [`Widener`] first.
    ///
    /// # Real-time
    /// Only computes, in a few hundred instructions.
    pub fn sample(&mut self, reference_ns: u64, local: MonoTime, release: MonoTime) -> Delta {
        let reference = reference_ns.checked_rem(self.config.period.as_ns()).and_then(|r| i64::try_from(r).ok());
        let to_release = release.signed_since(local).as_ns();
        let phase = reference.unwrap_or(0).saturating_add(to_release).saturating_sub(self.config.target.as_ns());
        if let Some(last) = self.release {
            let since = release.signed_since(last).as_ns();
            self.elapsed = as_ns(since).max(0.0);
            self.moved = as_ns(self.folded(since));
        }
        self.release = Some(release);
        self.take(as_ns(self.folded(phase)))
    }

    /// As [`sample`](Self::sample), for callers that know the error of this cycle's release: positive if the release is
    /// late. The servo assumes that the returned move is made in full. Use only one of the two methods.
    ///
    /// # Real-time
    /// Only computes, in a few hundred instructions.
    pub fn correct(&mut self, error: Delta) -> Delta {
        self.release = None;
        self.take(as_ns(self.folded(error.as_ns())))
    }

    /// Returns by how much to move the next release if this cycle has no sample: the learned frequency difference stays
    /// in effect.
    ///
    /// # Real-time
    /// Only computes, in bounded time.
    pub fn coast(&mut self) -> Delta {
        self.trust(-0.25);
        self.answer(0.0)
    }

    /// Sets the wanted reading of the reference at the releases, modulo the period. The releases walk there the shorter
    /// way, within the step limit and without overshoot.
    ///
    /// # Real-time
    /// Only computes, in bounded time.
    pub fn set_target(&mut self, target: Delta) {
        let target = self.folded(target.as_ns());
        let by = self.config.target.as_ns().saturating_sub(target);
        self.config.target = Delta::from_ns(target);
        self.shift(as_ns(by));
    }

    /// Sets the nominal period. The learned frequency difference stays. The phase is modulo the period, so it is
    /// searched again, and the target becomes the old target modulo the new period.
    ///
    /// # Errors
    /// [`ConfigError::Servo`] if the servo's other values cannot be used with this period; then nothing is changed.
    ///
    /// # Real-time
    /// Only computes, in bounded time.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        let config = ServoConfig { period, ..self.config };
        config.checked().map_err(ConfigError::Servo)?;
        self.configure(config);
        self.begin_anew();
        Ok(())
    }

    /// The filtered error of the releases at the last sample, positive if they are late, in (−period/2, period/2]; zero
    /// before five samples were seen.
    ///
    /// # Real-time
    /// Only computes.
    pub fn error(&self) -> Delta {
        Delta::from_ns(self.folded(rounded(self.error).as_ns()))
    }

    /// How much faster the reference runs than the local clock, in parts per million, as learned so far.
    pub const fn ppm(&self) -> f64 {
        self.frequency * 1e6
    }

    /// Whether the error is held within the lock window. The servo becomes locked after about `0.5/bandwidth` seconds
    /// within the window. It loses the lock after errors of twice the window that last longer than outliers, or after
    /// `4/bandwidth` seconds without samples. It is not locked while it walks to a new target.
    ///
    /// # Real-time
    /// Only computes.
    pub fn locked(&self) -> bool {
        self.locked && self.walk.abs() <= 2.0 * self.lock_window()
    }

    /// The target at which the releases are held, or towards which they walk, in (−period/2, period/2].
    pub const fn target(&self) -> Delta {
        self.config.target
    }

    /// Number of samples ignored because they were too far from their expected values.
    pub const fn rejected(&self) -> u64 {
        self.filter.rejected()
    }

    fn period(&self) -> f64 {
        as_ns(self.period_ns())
    }

    fn period_ns(&self) -> i64 {
        self.config.period.ahead().as_ns()
    }

    fn step(&self) -> f64 {
        as_ns(self.config.limits.step.ahead().as_ns())
    }

    fn lock_window(&self) -> f64 {
        as_ns(self.config.limits.lock.ahead().as_ns())
    }

    /// Folds a phase into (−period/2, period/2].
    fn folded(&self, phase_ns: i64) -> i64 {
        let period = self.period_ns();
        let rest = phase_ns.checked_rem_euclid(period).unwrap_or(0);
        if rest > period.wrapping_shr(1) { rest.saturating_sub(period) } else { rest }
    }

    /// Filters the error `raw` and returns by how much to steer.
    fn take(&mut self, raw: f64) -> Delta {
        let ahead = self.moved + self.frequency * self.elapsed;
        (self.moved, self.elapsed) = (0.0, 0.0);
        self.error += ahead;
        let had_begun = self.filter.ready();
        let taken = self.filter.take(raw, ahead, self.period());
        if !taken && !self.filter.ready() && had_begun {
            self.begin_anew();
        }
        if !taken {
            self.trust(-1.0);
            return self.answer(0.0);
        }
        let Some(error) = self.filter.estimate() else { return self.answer(0.0) };
        self.error = error;
        if !had_begun {
            self.walk = error;
        }
        self.judge();
        self.refold();
        self.control()
    }

    /// Uses a configuration that was checked.
    fn configure(&mut self, config: ServoConfig) {
        self.config = config;
        self.config.target = Delta::from_ns(self.folded(config.target.as_ns()));
        self.narrow = core::f64::consts::TAU * config.bandwidth_hz * config.period.as_secs_f64();
    }

    /// Forgets the phase and keeps the frequency.
    fn begin_anew(&mut self) {
        self.filter.begin_anew();
        (self.error, self.walk, self.age) = (0.0, 0.0, 0.0);
        (self.confidence, self.locked) = (0.0, false);
        self.release = None;
    }

    /// Decides whether the servo is locked. Errors below one lock window gain the lock and errors above two windows
    /// lose it, each only after some time.
    fn judge(&mut self) {
        let size = self.error.abs();
        if size < self.lock_window() {
            self.trust(2.0);
        } else if size > 2.0 * self.lock_window() {
            let was_locked = self.locked;
            self.trust(-16.0);
            // While the releases walk to a new target, the servo is not locked either. The bandwidth becomes wide again
            // only if the controller itself lost the phase.
            if was_locked && !self.locked && (self.error - self.walk).abs() > self.lock_window() {
                self.age = 0.0;
            }
        }
    }

    /// Moves the confidence in the lock by `weight` cycles, scaled by the bandwidth.
    fn trust(&mut self, weight: f64) {
        let share = (self.narrow * (1.0 / core::f64::consts::TAU)).min(1.0 / 32.0);
        self.confidence = (self.confidence + weight * share).clamp(0.0, 1.0);
        if self.confidence >= 1.0 {
            self.locked = true;
        } else if self.confidence <= 0.0 {
            self.locked = false;
        }
    }

    /// One step of the controller on the filtered error.
    fn control(&mut self) -> Delta {
        let linear = LINEAR_WINDOWS * self.lock_window();
        let off = self.error - self.walk;
        let held = within(off, linear);
        self.walk = self.error - held;
        self.age += 1.0;
        self.strained = if off.abs() > linear { self.strained.saturating_add(1) } else { 0 };
        if self.strained >= STRAINED_FOR {
            (self.age, self.strained) = (1.0, 0);
        }
        let omega = (2.0 / self.age).min(WIDEST).max(self.narrow);
        let pull = -2.0 * self.config.damping * omega * held;
        let learned = self.within_ppm(self.frequency + omega * omega * held / self.period());
        let wanted = pull - learned * self.period();
        if wanted.abs() <= self.step() || wanted * held > 0.0 {
            self.frequency = learned;
        }
        self.answer(pull)
    }

    fn within_ppm(&self, frequency: f64) -> f64 {
        let most = (self.config.limits.frequency_ppm * 1e-6).min(self.step() / self.period());
        within(frequency, most)
    }

    /// The correction of the controller, the learned drift, and a part of the distance to walk, within the step limit.
    fn answer(&mut self, pull: f64) -> Delta {
        let drift = self.frequency * self.period();
        let stride = within(-self.walk, WALKING_SHARE * self.step());
        let room = self.step() - self.carry.abs();
        let controlled = within(pull - drift, room);
        let total = within(controlled + stride, room);
        self.walk += total - controlled;
        let exact = total + self.carry;
        let answer = rounded(exact).within(self.config.limits.step);
        self.carry = within(exact - as_ns(answer.as_ns()), 1.0);
        self.moved += as_ns(answer.as_ns());
        self.elapsed += self.period();
        answer
    }

    /// Adapts every phase after the target was moved by `by`.
    fn shift(&mut self, by: f64) {
        self.filter.shift(by);
        if self.filter.ready() {
            self.error += by;
            self.walk += by;
            self.refold();
        }
    }

    /// Chooses the shorter way round the period, with some hysteresis at half a period.
    fn refold(&mut self) {
        let period = self.period();
        if self.walk.abs() > 0.5625 * period {
            let turns = whole(self.walk / period);
            self.filter.shift(-turns * period);
            self.error -= turns * period;
            self.walk -= turns * period;
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "phases are below an hour, which f64 holds to the nanosecond")]
const fn as_ns(ns: i64) -> f64 {
    ns as f64
}

/// Rounds to the nearest nanosecond; NaN becomes zero.
#[allow(clippy::cast_possible_truncation, reason = "saturates")]
fn rounded(ns: f64) -> Delta {
    Delta::from_ns((ns + 0.5_f64.copysign(ns)) as i64)
}

/// Rounds to the nearest whole number.
fn whole(turns: f64) -> f64 {
    as_ns(rounded(turns).as_ns())
}

/// Limits `value` to `most` in either direction; unlike `clamp`, it never panics.
fn within(value: f64, most: f64) -> f64 {
    value.min(most).max(-most)
}
