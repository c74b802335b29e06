//! Steers the grid of a task so that its releases keep a fixed phase to a clock elsewhere: `EtherCAT` distributed clocks,
//! PTP, a hardware pulse.
//!
//! Pure arithmetic: it reads no clock and knows nothing of tasks, sleeping or field buses. It is given pairs of times
//! and answers by how much to move the next release; moving it is the grid's job.
//!
//! # What is fed, and when
//! Once per cycle, after the reference was read:
//! * `reference_ns`: what the reference clock showed at some event, for instance when the frame passed the reference
//!   slave;
//! * `local`: `CLOCK_MONOTONIC` at *the same event*, for instance just before the frame was sent, or half-way between
//!   sending and receiving;
//! * `release`: the planned instant of this cycle ([`Wake::release`](crate::Wake)), *not* when the thread woke.
//!
//! The error is the reference's time at the release, modulo the period, minus the target:
//! `(reference + (release − local) − target) mod period`, folded to (−period/2, period/2]. As both clocks are read at the
//! same event, how late the thread woke, and how long it worked before the event, cancel; a constant delay between the
//! two readings is a constant phase, which the target takes up.
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
//! * A proportional-integral controller with gains made from bandwidth and period (`kp = 2ζωT`, `ki = (ωT)²`), so the same
//!   bandwidth settles in the same time at every period.
//! * Of the last five errors the median counts. Each is first carried forward by how far the grid was moved and by the
//!   learned drift, so the median does not lag and costs no stability.
//! * A sample too far from where it was expected is ignored; many in a row are a step of the reference and begin anew.
//! * A distance too long for the controller is *walked*, as fast as the step limit lets it, while the controller holds the
//!   phase on the way: neither a first approach of half a period nor a new target winds anything up or overshoots.
//! * It begins with a wide bandwidth that narrows as `2/(n·T)`, n samples seen, as the fit of a line would; so there is no
//!   moment of change that could be felt.

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

/// The part of the step limit that walking uses; the rest is the controller's.
const WALKING_SHARE: f64 = 0.75;
/// How many lock windows of error the controller handles; a larger error is walked off.
const LINEAR_WINDOWS: f64 = 4.0;
/// After this number of cycles in a row beyond [`LINEAR_WINDOWS`], what was learned is wrong: the bandwidth is wide again.
const STRAINED_FOR: u32 = 16;

/// Keeps a grid's releases at a fixed phase to a reference clock. See the [module](self) for what is fed when.
#[derive(Clone, Copy, Debug)]
pub struct PhaseServo {
    config: ServoConfig,
    /// The product ωT of bandwidth and period in the long run.
    narrow: f64,
    filter: Filter,
    /// How much faster the reference runs than the local clock, learned.
    frequency: f64,
    /// How far from the target the controller holds the phase at the moment: what is still to be walked, in ns.
    walk: f64,
    /// Samples since it began to narrow its bandwidth.
    age: f64,
    /// Cycles in a row in which the error was more than the controller handles.
    strained: u32,
    /// What rounding to whole nanoseconds left over.
    carry: f64,
    /// The grid's last release that was sampled.
    release: Option<MonoTime>,
    /// Steered since the last sample, in ns.
    moved: f64,
    /// Time since the last sample, in ns.
    elapsed: f64,
    /// The error, filtered, at the last release known of, in ns.
    error: f64,
    /// From 0, not locked, to 1, locked for long.
    confidence: f64,
    locked: bool,
}

impl PhaseServo {
    /// A servo that has seen nothing yet.
    ///
    /// # Errors
    /// [`ConfigError::Servo`] says which value cannot be used.
    ///
    /// # Real-time
    /// Allocates nothing; the servo takes 216 bytes, to be kept wherever the loop keeps its state.
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

    /// By how much to move the next release, given what both clocks showed at one event, and this cycle's planned
    /// release. Never more than the step limit. Until five samples have been seen, nothing is moved.
    ///
    /// What the timer made of earlier answers need not be told: it shows in `release`. A `reference_ns` of only 32 bits is
    /// first made whole by a [`Widener`].
    ///
    /// # Real-time
    /// Pure and bounded: a few hundred instructions.
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

    /// The plain form of [`sample`](Self::sample), for callers that have the error of this cycle's release already: positive
    /// when the release is late. The servo assumes that its answer is steered in full. Use one of the two forms only.
    ///
    /// # Real-time
    /// Pure and bounded: a few hundred instructions.
    pub fn correct(&mut self, error: Delta) -> Delta {
        self.release = None;
        self.take(as_ns(self.folded(error.as_ns())))
    }

    /// By how much to move the next release when this cycle has no sample: the learned frequency goes on.
    ///
    /// # Real-time
    /// Pure and bounded.
    pub fn coast(&mut self) -> Delta {
        self.trust(-0.25);
        self.answer(0.0)
    }

    /// The wanted time of the reference at the releases, modulo the period, from now on. The releases are walked there
    /// within the step limit, the shorter way, without overshoot.
    ///
    /// # Real-time
    /// Pure and bounded.
    pub fn set_target(&mut self, target: Delta) {
        let target = self.folded(target.as_ns());
        let by = self.config.target.as_ns().saturating_sub(target);
        self.config.target = Delta::from_ns(target);
        self.shift(as_ns(by));
    }

    /// The nominal period from now on. The learned frequency stays; the phase, which is one modulo the period, is sought
    /// anew, and the target is the old one's place in the new period.
    ///
    /// # Errors
    /// [`ConfigError::Servo`] when the servo's values cannot be used with it; nothing was changed then.
    ///
    /// # Real-time
    /// Pure and bounded.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        let config = ServoConfig { period, ..self.config };
        config.checked().map_err(ConfigError::Servo)?;
        self.configure(config);
        self.begin_anew();
        Ok(())
    }

    /// How late the releases are against the target, filtered, in (−period/2, period/2], at the last sample; zero before
    /// five samples.
    ///
    /// # Real-time
    /// Pure.
    pub fn error(&self) -> Delta {
        Delta::from_ns(self.folded(rounded(self.error).as_ns()))
    }

    /// How much faster the reference runs than the local clock, in parts per million, as learned.
    pub const fn ppm(&self) -> f64 {
        self.frequency * 1e6
    }

    /// Whether the error is held within the lock window. The servo is locked after about `0.5/bandwidth` within the window,
    /// and no longer so after errors of twice the window that last longer than outliers, or after `4/bandwidth` without
    /// samples. While it walks to a new target the answer is `false`.
    ///
    /// # Real-time
    /// Pure.
    pub fn locked(&self) -> bool {
        self.locked && self.walk.abs() <= 2.0 * self.lock_window()
    }

    /// The target the releases are kept at, or walked to, in (−period/2, period/2].
    pub const fn target(&self) -> Delta {
        self.config.target
    }

    /// How many samples were ignored because they were too far from where they were expected.
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

    /// To (−period/2, period/2].
    fn folded(&self, phase_ns: i64) -> i64 {
        let period = self.period_ns();
        let rest = phase_ns.checked_rem_euclid(period).unwrap_or(0);
        if rest > period.wrapping_shr(1) { rest.saturating_sub(period) } else { rest }
    }

    /// Filters the error and answers by how much to steer.
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

    /// Takes over a configuration that was checked.
    fn configure(&mut self, config: ServoConfig) {
        self.config = config;
        self.config.target = Delta::from_ns(self.folded(config.target.as_ns()));
        self.narrow = core::f64::consts::TAU * config.bandwidth_hz * config.period.as_secs_f64();
    }

    /// Forgets the phase, and keeps the frequency.
    fn begin_anew(&mut self) {
        self.filter.begin_anew();
        (self.error, self.walk, self.age) = (0.0, 0.0, 0.0);
        (self.confidence, self.locked) = (0.0, false);
        self.release = None;
    }

    /// Whether the error is one to call locked: in by one window, out by two, and only for long.
    fn judge(&mut self) {
        let size = self.error.abs();
        if size < self.lock_window() {
            self.trust(2.0);
        } else if size > 2.0 * self.lock_window() {
            let was_locked = self.locked;
            self.trust(-16.0);
            // A target that was moved is walked to; only what the controller lost makes it start wide again.
            if was_locked && !self.locked && (self.error - self.walk).abs() > self.lock_window() {
                self.age = 0.0;
            }
        }
    }

    /// Moves the leaky counter that decides about being locked, by `weight` cycles of the bandwidth.
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

    /// The controller's pull, the learned drift, and a piece of the way still to walk, within the step limit.
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

    /// Restates every phase after the target was moved.
    fn shift(&mut self, by: f64) {
        self.filter.shift(by);
        if self.filter.ready() {
            self.error += by;
            self.walk += by;
            self.refold();
        }
    }

    /// Takes the shorter way round, with some hysteresis at the half period.
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

/// To the nearest nanosecond; what is not a number becomes zero.
#[allow(clippy::cast_possible_truncation, reason = "saturates")]
fn rounded(ns: f64) -> Delta {
    Delta::from_ns((ns + 0.5_f64.copysign(ns)) as i64)
}

/// To the nearest whole number.
fn whole(turns: f64) -> f64 {
    as_ns(rounded(turns).as_ns())
}

/// The nearest value no farther than `most` from zero; unlike `clamp`, with nothing to panic about.
fn within(value: f64, most: f64) -> f64 {
    value.min(most).max(-most)
}
