//! The phase servo for C. One thread at a time samples and steers; any thread may read the state.

use crate::config::length;
use crate::cyclic::positive;
use crate::error::{Code, cold, done, hot};
use crate::handle::{self, Single};
use crate::text;
use crate::time::instant;
use crate::versioned::{Versioned, give, init, take, zeroed};
use punctual_hist::Slot;
use punctual_rt::Delta;
use punctual_rt::servo::{PhaseServo, ServoConfig, ServoLimits, Widener};
use std::ffi::c_int;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keeps releases at a fixed phase of another clock. Opaque.
pub struct prt_servo([u8; 0]);

handled!(prt_servo, 6: Single<Steering, Shown>);

/// The part of a servo that only the loop uses.
pub struct Steering {
    servo: PhaseServo,
    widener: Widener,
}

/// The state after the loop's last call, which any thread may read.
#[derive(Default)]
pub struct Shown {
    calls: AtomicU64,
    state: Slot<WORDS>,
}

const WORDS: usize = 5;
/// How often a reader repeats its copy while the loop writes the state. Writing takes some ten nanoseconds, or longer
/// if the loop is interrupted in the middle.
const TRIES: u32 = 1000;

impl Shown {
    /// Publishes the state. Only one thread at a time may call it.
    #[inline]
    fn show(&self, servo: &PhaseServo) {
        let calls = self.calls.load(Relaxed);
        self.calls.store(calls.wrapping_add(1), Relaxed);
        let locked = u64::from(servo.locked());
        let (error, target) = (bits(servo.error().as_ns()), bits(servo.target().as_ns()));
        self.state.write(calls, &[error, target, servo.ppm().to_bits(), servo.rejected(), locked]);
    }

    fn seen(&self) -> Result<prt_servo_state, Code> {
        let read = |_| {
            spin_loop();
            self.state.read()
        };
        let (_, [error, target, ppm, rejected, locked]) = (0..TRIES).find_map(read).ok_or(-libc::EBUSY)?;
        Ok(prt_servo_state {
            error_ns: number(error),
            target_ns: number(target),
            frequency_ppm: f64::from_bits(ppm),
            rejected,
            locked: u32::from(locked != 0),
            ..prt_servo_state::usual()
        })
    }
}

#[inline]
const fn bits(number: i64) -> u64 {
    u64::from_ne_bytes(number.to_ne_bytes())
}

#[inline]
const fn number(bits: u64) -> i64 {
    i64::from_ne_bytes(bits.to_ne_bytes())
}

/// The configuration of a servo.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_servo_config {
    /// Set by `prt_servo_config_init`.
    pub size: u32,
    /// Set by `prt_servo_config_init`.
    pub version: u32,
    /// The nominal period of the task; at most an hour.
    pub period_ns: i64,
    /// Bandwidth of the control loop: errors settle in about 1 / `bandwidth_hz` seconds, and faster disturbances are
    /// averaged. 0.5 to 1 suits most uses.
    pub bandwidth_hz: f64,
    /// Damping of the control loop, 0.3 to 3; 1 is critical damping.
    pub damping: f64,
    /// Wanted reading of the reference clock at the releases, modulo the period.
    pub target_ns: i64,
    /// The largest distance by which one cycle is moved; at most half the period.
    pub step_max_ns: i64,
    /// The largest difference between the rates of the two clocks that is learned, in parts per million.
    pub frequency_max_ppm: f64,
    /// The servo is locked when the error is below this, and no longer locked when it is above twice this.
    pub lock_ns: i64,
}

// SAFETY: repr(C), size and version first, no padding, numbers only.
unsafe impl Versioned for prt_servo_config {
    const NAME: &'static str = "prt_servo_config";

    fn usual() -> Self {
        let ServoLimits { step, frequency_ppm, lock } = ServoLimits::USUAL;
        Self {
            bandwidth_hz: 1.0,
            damping: 1.0,
            step_max_ns: step.ahead().as_ns(),
            frequency_max_ppm: frequency_ppm,
            lock_ns: lock.ahead().as_ns(),
            ..zeroed()
        }
    }
}

/// The state of a servo.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_servo_state {
    /// Set by `prt_servo_state_init`.
    pub size: u32,
    /// Set by `prt_servo_state_init`.
    pub version: u32,
    /// The filtered error of the releases: how late they are, relative to the target.
    pub error_ns: i64,
    /// The phase at which the releases are held, or towards which they move, as reference time modulo the period.
    pub target_ns: i64,
    /// How much faster the reference runs than the local clock, in parts per million, as learned so far.
    pub frequency_ppm: f64,
    /// Number of samples rejected as outliers.
    pub rejected: u64,
    /// 1 if the servo is locked, otherwise 0.
    pub locked: u32,
    /// Reserved; always 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, size and version first, no padding, numbers only.
unsafe impl Versioned for prt_servo_state {
    const NAME: &'static str = "prt_servo_state";

    fn usual() -> Self {
        zeroed()
    }
}

/// Initialises a servo's configuration of `size` bytes (`sizeof *config`) with usual values. Set `period_ns`
/// afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_config_init(config: *mut prt_servo_config, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(config, size) })
}

/// Prepares a structure of `size` bytes (`sizeof *state`) to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_state_init(state: *mut prt_servo_state, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(state, size) })
}

/// Makes a servo without any samples.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_open(config: *const prt_servo_config, servo: *mut *mut prt_servo) -> c_int {
    done(|| {
        // SAFETY: the C caller promises that the pointer is NULL or valid.
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
        let steering = Steering { servo: PhaseServo::new(config)?, widener: Widener::new() };
        let shown = Shown::default();
        shown.show(&steering.servo);
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(servo, || Ok(handle::open(Single::new(steering, shown))?)) }
    })
}

fn with<T>(servo: *const prt_servo, act: impl FnOnce(&mut Steering) -> T) -> Result<T, Code> {
    handle::alone(servo, |steering, shown| {
        let outcome = act(steering);
        shown.show(&steering.servo);
        outcome
    })
}

/// Writes to `to` by how much to steer, or 0 if the call is refused.
///
/// # Safety
/// `to` is null, or can be written.
#[inline]
unsafe fn steer(to: *mut i64, servo: *const prt_servo, act: impl FnOnce(&mut Steering) -> Delta) -> c_int {
    if to.is_null() {
        return -libc::EFAULT;
    }
    let steer = with(servo, act);
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { text::tell(to, steer.map_or(0, Delta::as_ns)) };
    hot(steer.map(drop))
}

/// Writes to `steer_ns` by how much to move the next release, for `prt_cyclic_steer`; 0 if the call is refused.
/// `reference_ns` and `local_ns` are the readings of both clocks at one event of this cycle. `release_ns` is the
/// cycle's planned release (`wake.release_ns`), not the time at which it woke. No release is moved before five samples
/// were seen.
///
/// For the loop. One thread at a time: `-EBUSY` while another thread samples, coasts or sets a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_sample(
    servo: *mut prt_servo,
    reference_ns: u64,
    local_ns: i64,
    release_ns: i64,
    steer_ns: *mut i64,
) -> c_int {
    let (local, release) = (instant(local_ns), instant(release_ns));
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    unsafe { steer(steer_ns, servo, |steering| steering.servo.sample(reference_ns, local, release)) }
}

/// As `prt_servo_sample`, for a reference clock of which only the low 32 bits are known, as with many `EtherCAT`
/// slaves. Such a counter wraps every 4.29 s, and the servo extends it to 64 bits. Between two of these samples the
/// clocks may drift apart by up to 2 s. Use only one of the two sample functions for a servo.
///
/// For the loop. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_sample32(
    servo: *mut prt_servo,
    reference_low_ns: u32,
    local_ns: i64,
    release_ns: i64,
    steer_ns: *mut i64,
) -> c_int {
    let (local, release) = (instant(local_ns), instant(release_ns));
    let sample = |steering: &mut Steering| {
        let reference_ns = steering.widener.widen(reference_low_ns, local);
        steering.servo.sample(reference_ns, local, release)
    };
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    unsafe { steer(steer_ns, servo, sample) }
}

/// As `prt_servo_sample`, for a cycle without a sample: the learned difference in frequency stays in effect.
///
/// For the loop. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_coast(servo: *mut prt_servo, steer_ns: *mut i64) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    unsafe { steer(steer_ns, servo, |steering| steering.servo.coast()) }
}

/// Sets the wanted reading of the reference clock at the releases, modulo the period.
///
/// For the loop. One thread at a time: call it in the loop, because a call from another thread could make a sample fail
/// with `-EBUSY`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_target(servo: *mut prt_servo, target_ns: i64) -> c_int {
    hot(with(servo, |steering| steering.servo.set_target(Delta::from_ns(target_ns))))
}

/// Sets the nominal period; `PRT_E_SERVO` if the servo's other values cannot be used with it.
///
/// For the loop. One thread at a time, as `prt_servo_set_target`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_period(servo: *mut prt_servo, period_ns: i64) -> c_int {
    let set = |period| with(servo, |steering| steering.servo.set_period(period).map_err(|_| crate::PRT_E_SERVO));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// Copies the state of the servo after the loop's last call. May be called from any thread; the loop is not disturbed.
/// `-EBUSY` if the loop is interrupted while it writes the state.
///
/// For the loop: takes about a hundred nanoseconds, and at most a few microseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_get_state(servo: *const prt_servo, state: *mut prt_servo_state) -> c_int {
    let now = handle::shared(servo).and_then(|servo| servo.open.seen());
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(now.and_then(|now| unsafe { give(state, &now) }))
}

/// Frees a servo.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_close(servo: *mut prt_servo) -> c_int {
    done(|| handle::free(servo))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn servo() -> *mut prt_servo {
        let config = prt_servo_config { period_ns: 1_000_000, ..prt_servo_config::usual() };
        let mut servo = ptr::null_mut();
        // SAFETY: both pointers are valid.
        assert_eq!(unsafe { prt_servo_open(&raw const config, &raw mut servo) }, 0);
        servo
    }

    fn state(servo: *const prt_servo) -> (c_int, prt_servo_state) {
        let mut state = prt_servo_state::usual();
        // SAFETY: both pointers are valid.
        (unsafe { prt_servo_get_state(servo, &raw mut state) }, state)
    }

    #[test]
    fn who_looks_at_it_refuses_the_loop_no_sample() {
        let servo = servo();
        let onlooker = handle::shared(servo).unwrap();
        let mut steer = 77;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { prt_servo_sample(servo, 5, 5, 0, &raw mut steer) }, 0);
        drop(onlooker);
        assert_eq!(handle::alone(servo, |_, _| state(servo).0), Ok(0), "and is not refused either");
        assert_eq!(prt_servo_close(servo), 0);
    }

    #[test]
    fn where_it_is_refused_nothing_is_steered() {
        let servo = servo();
        let mut steer = [77; 3];
        let other = handle::alone(servo, |_, _| {
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_servo_sample(servo, 5, 5, 0, &raw mut steer[0]) }, -libc::EBUSY);
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_servo_sample32(servo, 5, 5, 0, &raw mut steer[1]) }, -libc::EBUSY);
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_servo_coast(servo, &raw mut steer[2]) }, -libc::EBUSY);
        });
        assert!(other.is_ok() && steer == [0; 3]);
        assert_eq!(prt_servo_close(servo), 0);
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { prt_servo_coast(servo, &raw mut steer[0]) }, crate::PRT_E_HANDLE);
    }

    #[test]
    fn what_was_never_written_is_not_shown() {
        assert_eq!(Shown::default().seen().err(), Some(-libc::EBUSY));
    }

    #[test]
    fn a_reference_of_32_bits_steers_as_one_of_64() {
        let (whole, low) = (servo(), servo());
        let mut steered = 0;
        for cycle in 0..20_i64 {
            let (local, reference) = (cycle * 1_000_000, (1_u64 << 33) - 5_000_000 + cycle.unsigned_abs() * 1_000_100);
            let (mut a, mut b) = (1, 2);
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_servo_sample(whole, reference, local, local, &raw mut a) }, 0);
            let half = u32::try_from(reference & u64::from(u32::MAX)).unwrap();
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_servo_sample32(low, half, local, local, &raw mut b) }, 0);
            steered += i64::from(a != 0);
            // The low 32 bits wrap at the fifth sample. The first sample is taken as the second round of the counter.
            assert_eq!(a, b, "cycle {cycle}");
        }
        assert!(steered > 0);
        assert_eq!((prt_servo_close(whole), prt_servo_close(low)), (0, 0));
    }
}
