//! The phase servo for C: pure arithmetic, usable from any thread, by one at a time.

use crate::config::length;
use crate::cyclic::positive;
use crate::error::{Code, cold, done, hot};
use crate::handle::{self, Handled};
use crate::text;
use crate::time::instant;
use crate::versioned::{Versioned, give, header, init, take};
use punctual_rt::Delta;
use punctual_rt::servo::{PhaseServo, ServoConfig, ServoLimits};
use std::ffi::c_int;

/// Keeps releases at a fixed phase to another clock. Opaque.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_servo([u8; 0]);

impl Handled for prt_servo {
    const KIND: u8 = 6;
    type Value = PhaseServo;
}

/// What a servo is made from.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_servo_config {
    /// Set by `prt_servo_config_init`.
    pub size: u32,
    /// Set by `prt_servo_config_init`.
    pub version: u32,
    /// The nominal period of the task; at most an hour.
    pub period_ns: i64,
    /// Errors settle in about one over this; faster disturbances are averaged. 0.5 to 1 suits most.
    pub bandwidth_hz: f64,
    /// 0.3 to 3; 1 is critical.
    pub damping: f64,
    /// Wanted time of the reference clock at the releases, modulo the period.
    pub target_ns: i64,
    /// The most that one cycle is moved by, at most half the period.
    pub step_max_ns: i64,
    /// The largest difference in speed that is learned, in parts per million.
    pub frequency_max_ppm: f64,
    /// An error below this is locked, above twice this is not.
    pub lock_ns: i64,
}

// SAFETY: repr(C), size and version first, no padding, numbers only.
unsafe impl Versioned for prt_servo_config {
    const NAME: &'static str = "prt_servo_config";

    fn usual() -> Self {
        let (size, version) = header::<Self>();
        let ServoLimits { step, frequency_ppm, lock } = ServoLimits::USUAL;
        Self {
            size,
            version,
            period_ns: 0,
            bandwidth_hz: 1.0,
            damping: 1.0,
            target_ns: 0,
            step_max_ns: step.ahead().as_ns(),
            frequency_max_ppm: frequency_ppm,
            lock_ns: lock.ahead().as_ns(),
        }
    }
}

/// How a servo is doing.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_servo_state {
    /// Set by `prt_servo_state_init`.
    pub size: u32,
    /// Set by `prt_servo_state_init`.
    pub version: u32,
    /// How late the releases are against the target, filtered.
    pub error_ns: i64,
    /// The target.
    pub target_ns: i64,
    /// How much faster the reference runs than the local clock, in parts per million, as learned.
    pub frequency_ppm: f64,
    /// Samples that were not believed.
    pub rejected: u64,
    /// Whether it is locked: 1 or 0.
    pub locked: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: as above.
unsafe impl Versioned for prt_servo_state {
    const NAME: &'static str = "prt_servo_state";

    fn usual() -> Self {
        let (size, version) = header::<Self>();
        Self { size, version, error_ns: 0, target_ns: 0, frequency_ppm: 0.0, rejected: 0, locked: 0, reserved: 0 }
    }
}

/// Fills a servo's configuration of `size` bytes (`sizeof *config`) with usual values. `period_ns` must be set then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_config_init(config: *mut prt_servo_config, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(config, size) })
}

/// Prepares a structure of `size` bytes (`sizeof *state`) to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_state_init(state: *mut prt_servo_state, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(state, size) })
}

/// Makes a servo that has seen nothing yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_open(config: *const prt_servo_config, servo: *mut *mut prt_servo) -> c_int {
    done(|| {
        // SAFETY: null or valid, says the caller.
        let given = unsafe { take(config) }?;
        let config = ServoConfig {
            period: length("period_ns", given.period_ns)?,
            bandwidth_hz: given.bandwidth_hz,
            damping: given.damping,
            target: Delta::from_ns(given.target_ns),
            limits: ServoLimits {
                step: length("step_max_ns", given.step_max_ns)?,
                frequency_ppm: given.frequency_max_ppm,
                lock: length("lock_ns", given.lock_ns)?,
            },
        };
        let made = PhaseServo::new(config)?;
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(servo, || Ok(handle::open(made)?)) }
    })
}

fn with<T>(servo: *const prt_servo, act: impl FnOnce(&mut PhaseServo) -> T) -> Result<T, Code> {
    Ok(act(&mut *handle::alone(servo)?))
}

/// `steer_ns` becomes by how much to move the next release (what `prt_cyclic_steer` takes). `reference_ns` and
/// `local_ns` are what both clocks showed at one event of this cycle, `release_ns` is its planned release
/// (`wake.release_ns`), not when it woke. Nothing is moved before five samples were seen.
///
/// For the loop. `-EBUSY` when another thread uses the servo at this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_sample(
    servo: *mut prt_servo,
    reference_ns: u64,
    local_ns: i64,
    release_ns: i64,
    steer_ns: *mut i64,
) -> c_int {
    if steer_ns.is_null() {
        return -libc::EFAULT;
    }
    let steer = with(servo, |servo| servo.sample(reference_ns, instant(local_ns), instant(release_ns)));
    // SAFETY: valid, says the caller.
    hot(steer.map(|steer| unsafe { text::tell(steer_ns, steer.as_ns()) }))
}

/// As `prt_servo_sample`, for a cycle that has no sample: what was learned of the frequency goes on.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_coast(servo: *mut prt_servo, steer_ns: *mut i64) -> c_int {
    if steer_ns.is_null() {
        return -libc::EFAULT;
    }
    let steer = with(servo, PhaseServo::coast);
    // SAFETY: valid, says the caller.
    hot(steer.map(|steer| unsafe { text::tell(steer_ns, steer.as_ns()) }))
}

/// The wanted time of the reference at the releases, modulo the period, from now on.
///
/// For the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_target(servo: *mut prt_servo, target_ns: i64) -> c_int {
    hot(with(servo, |servo| servo.set_target(Delta::from_ns(target_ns))))
}

/// The nominal period from now on; `PRT_E_SERVO` when the servo's other values can not be used with it.
///
/// For the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_period(servo: *mut prt_servo, period_ns: i64) -> c_int {
    let set = |period| with(servo, |servo| servo.set_period(period).map_err(|_| crate::PRT_E_SERVO));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// How the servo is doing.
///
/// For the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_get_state(servo: *const prt_servo, state: *mut prt_servo_state) -> c_int {
    let now = with(servo, |servo| prt_servo_state {
        error_ns: servo.error().as_ns(),
        target_ns: servo.target().as_ns(),
        frequency_ppm: servo.ppm(),
        rejected: servo.rejected(),
        locked: u32::from(servo.locked()),
        ..prt_servo_state::usual()
    });
    // SAFETY: null or valid, says the caller.
    hot(now.and_then(|now| unsafe { give(state, &now) }))
}

/// Frees a servo.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_close(servo: *mut prt_servo) -> c_int {
    done(|| handle::free(servo))
}
