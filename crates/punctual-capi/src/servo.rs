//! The phase servo for C: pure arithmetic, done by one thread at a time; how it is doing can be seen by all.

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

/// Keeps releases at a fixed phase to another clock. Opaque.
pub struct prt_servo([u8; 0]);

handled!(prt_servo, 6: Single<Steering, Shown>);

/// The part that only the loop uses.
pub struct Steering {
    servo: PhaseServo,
    widener: Widener,
}

/// The part that any thread may read: the state after the last call of the loop.
#[derive(Default)]
pub struct Shown {
    calls: AtomicU64,
    state: Slot<WORDS>,
}

const WORDS: usize = 5;
/// How often reading a state is tried while the loop writes it. Writing takes some ten nanoseconds, or longer when the loop
/// is interrupted in the middle.
const TRIES: u32 = 1000;

impl Shown {
    /// Publishes the state; only one thread at a time may.
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

/// What a servo is made from.
#[repr(C)]
#[derive(Clone, Copy)]
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

/// How a servo is doing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_servo_state {
    /// Set by `prt_servo_state_init`.
    pub size: u32,
    /// Set by `prt_servo_state_init`.
    pub version: u32,
    /// How late the releases are against the target, filtered.
    pub error_ns: i64,
    /// Where the releases are held, or walked to, as reference time modulo the period.
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
        zeroed()
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
        let steering = Steering { servo: PhaseServo::new(config)?, widener: Widener::new() };
        let shown = Shown::default();
        shown.show(&steering.servo);
        // SAFETY: null or valid, says the caller.
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

/// Tells by how much to steer: zero where the call is refused.
///
/// # Safety
/// `to` is null, or can be written.
#[inline]
unsafe fn steer(to: *mut i64, servo: *const prt_servo, act: impl FnOnce(&mut Steering) -> Delta) -> c_int {
    if to.is_null() {
        return -libc::EFAULT;
    }
    let steer = with(servo, act);
    // SAFETY: as the caller says.
    unsafe { text::tell(to, steer.map_or(0, Delta::as_ns)) };
    hot(steer.map(drop))
}

/// `steer_ns` becomes by how much to move the next release (what `prt_cyclic_steer` takes); 0 when the call is refused.
/// `reference_ns` and `local_ns` are what both clocks showed at one event of this cycle, `release_ns` is its planned
/// release (`wake.release_ns`), not when it woke. Nothing is moved before five samples were seen.
///
/// For the loop. One thread at a time: `-EBUSY` when another one samples, coasts or sets at this moment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_sample(
    servo: *mut prt_servo,
    reference_ns: u64,
    local_ns: i64,
    release_ns: i64,
    steer_ns: *mut i64,
) -> c_int {
    let (local, release) = (instant(local_ns), instant(release_ns));
    // SAFETY: null or valid, says the caller.
    unsafe { steer(steer_ns, servo, |steering| steering.servo.sample(reference_ns, local, release)) }
}

/// As `prt_servo_sample`, for a reference of which only the low 32 bits are known, as of many `EtherCAT` slaves: it comes
/// round every 4.29 s, and is made whole here. Since the last such sample the two clocks may have drifted apart by up to
/// 2 s. One servo is given the one kind of sample or the other.
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
    // SAFETY: null or valid, says the caller.
    unsafe { steer(steer_ns, servo, sample) }
}

/// As `prt_servo_sample`, for a cycle that has no sample: what was learned of the frequency goes on.
///
/// For the loop. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_coast(servo: *mut prt_servo, steer_ns: *mut i64) -> c_int {
    // SAFETY: null or valid, says the caller.
    unsafe { steer(steer_ns, servo, |steering| steering.servo.coast()) }
}

/// The wanted time of the reference at the releases, modulo the period, from now on.
///
/// For the loop. One thread at a time: set it in the loop, for a call from elsewhere could make a sample `-EBUSY`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_target(servo: *mut prt_servo, target_ns: i64) -> c_int {
    hot(with(servo, |steering| steering.servo.set_target(Delta::from_ns(target_ns))))
}

/// The nominal period from now on; `PRT_E_SERVO` when the servo's other values can not be used with it.
///
/// For the loop. One thread at a time, as `prt_servo_set_target`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_servo_set_period(servo: *mut prt_servo, period_ns: i64) -> c_int {
    let set = |period| with(servo, |steering| steering.servo.set_period(period).map_err(|_| crate::PRT_E_SERVO));
    hot(positive(period_ns).and_then(set).and_then(|set| set))
}

/// How the servo is doing: the state after the loop's last call. From any thread; the loop does not notice. `-EBUSY` when
/// the loop is held up in the middle of writing it.
///
/// For the loop: some hundred nanoseconds, and bounded by some microseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_servo_get_state(servo: *const prt_servo, state: *mut prt_servo_state) -> c_int {
    let now = handle::shared(servo).and_then(|servo| servo.open.seen());
    // SAFETY: null or valid, says the caller.
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
        // SAFETY: both are valid.
        assert_eq!(unsafe { prt_servo_open(&raw const config, &raw mut servo) }, 0);
        servo
    }

    fn state(servo: *const prt_servo) -> (c_int, prt_servo_state) {
        let mut state = prt_servo_state::usual();
        // SAFETY: both are valid.
        (unsafe { prt_servo_get_state(servo, &raw mut state) }, state)
    }

    #[test]
    fn who_looks_at_it_refuses_the_loop_no_sample() {
        let servo = servo();
        let onlooker = handle::shared(servo).unwrap();
        let mut steer = 77;
        // SAFETY: valid.
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
            // SAFETY: valid.
            assert_eq!(unsafe { prt_servo_sample(servo, 5, 5, 0, &raw mut steer[0]) }, -libc::EBUSY);
            // SAFETY: valid.
            assert_eq!(unsafe { prt_servo_sample32(servo, 5, 5, 0, &raw mut steer[1]) }, -libc::EBUSY);
            // SAFETY: valid.
            assert_eq!(unsafe { prt_servo_coast(servo, &raw mut steer[2]) }, -libc::EBUSY);
        });
        assert!(other.is_ok() && steer == [0; 3]);
        assert_eq!(prt_servo_close(servo), 0);
        // SAFETY: valid.
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
            // SAFETY: valid.
            assert_eq!(unsafe { prt_servo_sample(whole, reference, local, local, &raw mut a) }, 0);
            let half = u32::try_from(reference & u64::from(u32::MAX)).unwrap();
            // SAFETY: valid.
            assert_eq!(unsafe { prt_servo_sample32(low, half, local, local, &raw mut b) }, 0);
            steered += i64::from(a != 0);
            // The low half comes round at the fifth; the first one is taken as the second round.
            assert_eq!(a, b, "cycle {cycle}");
        }
        assert!(steered > 0);
        assert_eq!((prt_servo_close(whole), prt_servo_close(low)), (0, 0));
    }
}
