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
//!     let local = release.plus(Nanos::from_us(30)); // The thread woke, and sent its frame 30 us after the release …
//!     let reference = local.as_ns() + 300_000; // … past a clock that is 300 us ahead.
//!     let steer = servo.sample(reference, local, release);
//!     release = release.plus(period).moved(steer); // What `steer` of a task does.
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

mod filter;
#[cfg(test)]
mod tests;
mod widen;

use crate::Error;
use filter::Filter;
use punctual_hist::{Delta, MonoTime, Nanos};
use std::fmt;
pub use widen::Widener;

/// The largest ωT, and the one it begins with.
const WIDEST: f64 = 0.1;
/// The longest period: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// The part of the step limit that walking uses; the rest is the controller's.
const WALKING_SHARE: f64 = 0.75;
/// How many lock windows of error the controller handles; what is beyond is walked.
const LINEAR_WINDOWS: f64 = 4.0;
/// After so many cycles in a row with more error than that, what was learned is wrong: it begins wide again.
const STRAINED_FOR: u32 = 16;

/// What a [`PhaseServo`] is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoConfig {
    /// The nominal period of the task, and the modulus of the phase; at most an hour.
    pub period: Nanos,
    /// Natural frequency of the loop in Hz, `ω/2π`: errors settle in about one over this, disturbances faster than this
    /// are averaged. 0.5 to 1 suits a reference that jitters by microseconds. At most `0.1/(2π·period)`.
    pub bandwidth_hz: f64,
    /// Damping ζ, 0.3 to 3; 1 is critical.
    pub damping: f64,
    /// Wanted time of the reference clock at the releases, modulo the period.
    pub target: Delta,
    /// What it must not exceed.
    pub limits: ServoLimits,
}

impl ServoConfig {
    /// Critically damped, releases on the reference's multiples of the period, usual limits.
    pub const fn new(period: Nanos, bandwidth_hz: f64) -> Self {
        Self { period, bandwidth_hz, damping: 1.0, target: Delta::ZERO, limits: ServoLimits::USUAL }
    }

    /// The largest stable bandwidth, in Hz, for this period.
    fn widest_hz(&self) -> f64 {
        WIDEST / (core::f64::consts::TAU * self.period.as_secs_f64())
    }

    fn checked(&self) -> Result<(), ServoRefusal> {
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
        if limits.step == Nanos::ZERO || limits.step.times(2) > self.period {
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

/// What a [`PhaseServo`] must not exceed, and what it calls locked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoLimits {
    /// The most that one cycle is moved by; above zero, at most half the period. Usually 5 us.
    pub step: Nanos,
    /// The largest difference in speed that is learned, in parts per million, up to 100 000. Usually 1000.
    pub frequency_ppm: f64,
    /// An error below this is locked, above twice this is not. Usually 5 us.
    pub lock: Nanos,
}

impl ServoLimits {
    /// 5 us per cycle, 1000 ppm, locked within 5 us.
    pub const USUAL: Self = Self { step: Nanos::from_us(5), frequency_ppm: 1000.0, lock: Nanos::from_us(5) };
}

impl Default for ServoLimits {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Why a [`PhaseServo`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServoRefusal {
    /// The period is zero, or longer than an hour.
    Period,
    /// The bandwidth is not a positive number.
    Bandwidth,
    /// The bandwidth is too large for the period to be stable.
    TooWide {
        /// The largest one that is stable, in thousandths of a hertz.
        most_millihertz: u64,
    },
    /// The damping is not within 0.3 to 3.
    Damping,
    /// The step limit is zero, or more than half the period.
    Step,
    /// The limit on the difference in speed is not within 0 to 100 000 ppm.
    Frequency,
    /// The lock window is zero.
    Lock,
}

impl fmt::Display for ServoRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Period => f.write_str("the period is not within 1 ns to 1 h"),
            Self::Bandwidth => f.write_str("the bandwidth is not a positive number of hertz"),
            Self::TooWide { most_millihertz } => {
                let (whole, rest) = (most_millihertz / 1000, most_millihertz % 1000);
                write!(f, "the bandwidth is too large for this period: at most {whole}.{rest:03} Hz are stable")
            }
            Self::Damping => f.write_str("the damping is not within 0.3 to 3"),
            Self::Step => f.write_str("the step limit is not within 1 ns to half the period"),
            Self::Frequency => f.write_str("the limit on the difference in speed is not within 0 to 100000 ppm"),
            Self::Lock => f.write_str("the lock window is zero"),
        }
    }
}

/// Keeps a grid's releases at a fixed phase to a reference clock. See the [module](self) for what is fed when.
#[derive(Clone, Copy, Debug)]
pub struct PhaseServo {
    config: ServoConfig,
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
    /// [`Error::Servo`] says which value cannot be used.
    ///
    /// # Real-time
    /// Allocates nothing; the servo is about 200 bytes, to be kept wherever the loop keeps its state.
    pub fn new(config: ServoConfig) -> Result<Self, Error> {
        config.checked().map_err(Error::Servo)?;
        Ok(Self {
            config,
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
        })
    }

    /// By how much to move the next release, given what both clocks showed at one event, and this cycle's planned
    /// release. Never more than the step limit. Until five samples have been seen, nothing is moved.
    ///
    /// What the timer made of earlier answers need not be told: it shows in `release`. A `reference_ns` of only 32 bits is
    /// first made whole by a [`Widener`].
    ///
    /// # Real-time
    /// Pure and bounded: about a hundred instructions.
    pub fn sample(&mut self, reference_ns: u64, local: MonoTime, release: MonoTime) -> Delta {
        let period = self.period_ns();
        let to_release = release.minus_instant(local).as_ns().checked_rem_euclid(period).unwrap_or(0);
        let target = self.config.target.as_ns().checked_rem_euclid(period).unwrap_or(0);
        let reference = reference_ns.checked_rem(self.config.period.as_ns()).and_then(|r| i64::try_from(r).ok());
        let phase = reference.unwrap_or(0).saturating_add(to_release).saturating_sub(target);
        if let Some(last) = self.release {
            let since = release.minus_instant(last).as_ns();
            self.elapsed = as_ns(since).max(0.0);
            self.moved = as_ns(self.folded(since));
        }
        self.release = Some(release);
        self.take(as_ns(self.folded(phase)))
    }

    /// The plain form of [`sample`](Self::sample), for who has the error of this cycle's release already: positive when
    /// the release is late. It takes what it answers for what was steered. Of the two forms, use one.
    ///
    /// # Real-time
    /// Pure and bounded: about a hundred instructions.
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
        let period = self.period_ns();
        let old = self.config.target.as_ns().checked_rem_euclid(period).unwrap_or(0);
        let new = target.as_ns().checked_rem_euclid(period).unwrap_or(0);
        self.config.target = target;
        self.shift(as_ns(old.saturating_sub(new)));
    }

    /// The nominal period from now on. The learned frequency stays; the phase, which is one modulo the period, is sought
    /// anew.
    ///
    /// # Errors
    /// [`Error::Servo`] when the servo's values cannot be used with it; nothing was changed then.
    ///
    /// # Real-time
    /// Pure and bounded.
    pub fn set_period(&mut self, period: Nanos) -> Result<(), Error> {
        let config = ServoConfig { period, ..self.config };
        config.checked().map_err(Error::Servo)?;
        self.config = config;
        self.begin_anew();
        Ok(())
    }

    /// How late the releases are against the target, filtered, in (−period/2, period/2], at the last sample; zero before
    /// five samples.
    pub fn error(&self) -> Delta {
        Delta::from_ns(self.folded(rounded(self.error).as_ns()))
    }

    /// How much faster the reference runs than the local clock, in parts per million, as learned.
    pub const fn ppm(&self) -> f64 {
        self.frequency * 1e6
    }

    /// Whether the error has been within the lock window for about half of one over the bandwidth, and not since been
    /// beyond twice that window for longer than outliers are. Missing samples are forgiven for four times one over the
    /// bandwidth.
    pub const fn locked(&self) -> bool {
        self.locked
    }

    /// The target the releases are kept at, or walked to.
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

    /// Filters the error and answers it.
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

    /// Moves the leaky counter by so many cycles' worth of the bandwidth.
    fn trust(&mut self, weight: f64) {
        let share = (self.config.bandwidth_hz * self.config.period.as_secs_f64()).min(1.0 / 32.0);
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
        let held = off.clamp(-linear, linear);
        self.walk = self.error - held;
        self.age += 1.0;
        self.strained = if off.abs() > linear { self.strained.saturating_add(1) } else { 0 };
        if self.strained >= STRAINED_FOR {
            (self.age, self.strained) = (1.0, 0);
        }
        let narrow = core::f64::consts::TAU * self.config.bandwidth_hz * self.config.period.as_secs_f64();
        let omega = (2.0 / self.age).min(WIDEST).max(narrow);
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
        frequency.clamp(-most, most)
    }

    /// The controller's pull, the learned drift, and a piece of the way still to walk, within the step limit.
    fn answer(&mut self, pull: f64) -> Delta {
        let drift = self.frequency * self.period();
        let stride = (-self.walk).clamp(-WALKING_SHARE * self.step(), WALKING_SHARE * self.step());
        let room = self.step() - self.carry.abs();
        let controlled = (pull - drift).clamp(-room, room);
        let total = (controlled + stride).clamp(-room, room);
        self.walk += total - controlled;
        let exact = total + self.carry;
        let answer = rounded(exact).within(self.config.limits.step);
        self.carry = (exact - as_ns(answer.as_ns())).clamp(-1.0, 1.0);
        self.moved += as_ns(answer.as_ns());
        self.elapsed += self.period();
        answer
    }

    /// Restates every phase after the target was moved.
    fn shift(&mut self, by: f64) {
        self.filter.shift(by);
        self.error += by;
        self.walk += by;
        self.refold();
    }

    /// Takes the shorter way round, with some hysteresis at the half period.
    fn refold(&mut self) {
        let period = self.period();
        let turns = if self.walk.abs() > 0.5625 * period { (self.walk / period).round() } else { 0.0 };
        if turns.abs() > 0.5 {
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
    Delta::from_ns(ns.round() as i64)
}
