//! Functions that call everything that may run between two waits, under names that remain in the object code.
//!
//! `cargo xtask ci panic-free` builds this crate as a static library in the profile `dist`, and follows all calls of
//! these functions. No call may lead to a panic, to an allocation, or to a system library except for a few listed
//! functions. The functions of the module `injected` violate this on purpose: the check must find each of them.

#![allow(unsafe_code, reason = "names that survive are an unsafe attribute")]
#![allow(missing_docs, reason = "each is named after the one function that it calls")]
#![allow(clippy::no_mangle_with_rust_abi, reason = "nobody calls them")]

use punctual_rt::log::LogWriter;
use punctual_rt::servo::PhaseServo;
use punctual_rt::sync::{PiMutex, Semaphore, Signal};
use punctual_rt::watchdog::Heart;
use punctual_rt::{
    Cyclic, Delay, Delta, LatestReader, LatestWriter, MonoTime, Nanos, Pacer, Receiver, Sender, StatsWriter, Stopper,
    Wake, rt_log,
};

#[unsafe(no_mangle)]
pub fn hot_pacer_wait(pacer: &mut Pacer) -> Wake {
    pacer.wait()
}

#[unsafe(no_mangle)]
pub fn hot_pacer_steer(pacer: &mut Pacer, by: Delta) -> Delta {
    pacer.steer(by)
}

#[unsafe(no_mangle)]
pub fn hot_pacer_set_period(pacer: &mut Pacer, period: Nanos) {
    pacer.set_period(period);
}

#[unsafe(no_mangle)]
pub fn hot_pacer_shift_phase(pacer: &mut Pacer, by: Delta) {
    pacer.shift_phase(by);
}

#[unsafe(no_mangle)]
pub fn hot_pacer_resync(pacer: &mut Pacer) -> u64 {
    pacer.resync()
}

#[unsafe(no_mangle)]
pub fn hot_delay_until(delay: &mut Delay, instant: MonoTime) -> Wake {
    delay.until(instant)
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_wait(cyclic: &mut Cyclic) -> Option<Wake> {
    cyclic.wait()
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_finish(cyclic: &mut Cyclic) {
    cyclic.finish();
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_steer(cyclic: &mut Cyclic, by: Delta) -> Delta {
    cyclic.steer(by)
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_set_period(cyclic: &mut Cyclic, period: Nanos) {
    let _ = cyclic.set_period(period);
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_shift_phase(cyclic: &mut Cyclic, by: Delta) {
    cyclic.shift_phase(by);
}

#[unsafe(no_mangle)]
pub fn hot_cyclic_resync(cyclic: &mut Cyclic) -> u64 {
    cyclic.resync()
}

#[unsafe(no_mangle)]
pub fn hot_stopper_stop(stopper: &Stopper) {
    stopper.stop();
}

#[unsafe(no_mangle)]
pub fn hot_servo_sample(servo: &mut PhaseServo, reference_ns: u64, wake: &Wake) -> Delta {
    servo.sample(reference_ns, wake.woke, wake.release)
}

#[unsafe(no_mangle)]
pub fn hot_servo_correct(servo: &mut PhaseServo, error: Delta) -> Delta {
    servo.correct(error)
}

#[unsafe(no_mangle)]
pub fn hot_servo_coast(servo: &mut PhaseServo) -> Delta {
    servo.coast()
}

#[unsafe(no_mangle)]
pub fn hot_servo_set_target(servo: &mut PhaseServo, target: Delta) {
    servo.set_target(target);
}

#[unsafe(no_mangle)]
pub fn hot_servo_set_period(servo: &mut PhaseServo, period: Nanos) -> bool {
    servo.set_period(period).is_ok()
}

#[unsafe(no_mangle)]
pub fn hot_servo_state(servo: &PhaseServo) -> (Delta, f64, bool, u64) {
    (servo.error(), servo.ppm(), servo.locked(), servo.rejected())
}

#[unsafe(no_mangle)]
pub fn hot_stats_woke(stats: &mut StatsWriter, wake: &Wake) {
    stats.woke(wake);
}

#[unsafe(no_mangle)]
pub fn hot_stats_finished(stats: &mut StatsWriter, at: MonoTime) {
    stats.finished(at);
}

#[unsafe(no_mangle)]
pub fn hot_stats_warm(stats: &StatsWriter) {
    stats.warm();
}

#[unsafe(no_mangle)]
pub fn hot_queue_push(sender: &mut Sender<[u64; 4]>, value: [u64; 4]) -> bool {
    sender.push(value).is_ok()
}

#[unsafe(no_mangle)]
pub fn hot_queue_pop(receiver: &mut Receiver<[u64; 4]>) -> Option<[u64; 4]> {
    receiver.pop()
}

#[unsafe(no_mangle)]
pub fn hot_latest_write(writer: &mut LatestWriter<[u64; 16]>, value: [u64; 16]) -> bool {
    writer.write(value)
}

#[unsafe(no_mangle)]
pub fn hot_latest_read(reader: &mut LatestReader<[u64; 16]>) -> [u64; 16] {
    reader.read().value
}

#[unsafe(no_mangle)]
pub fn hot_log_message(log: &mut LogWriter, by: i64) {
    rt_log!(log, "steered by {}", by);
}

#[unsafe(no_mangle)]
pub fn hot_log_span(log: &mut LogWriter, value: f64) {
    log.span("body", |log| log.counter("value", value));
}

#[unsafe(no_mangle)]
pub fn hot_signal_post(signal: &Signal) -> bool {
    signal.post()
}

#[unsafe(no_mangle)]
pub fn hot_signal_wait_until(signal: &Signal, deadline: MonoTime) -> bool {
    signal.wait_until(deadline)
}

#[unsafe(no_mangle)]
pub fn hot_signal_try_wait(signal: &Signal) -> bool {
    signal.try_wait()
}

#[unsafe(no_mangle)]
pub fn hot_lock(shared: &PiMutex<u64>, value: u64) -> bool {
    shared.lock().map(|mut shared| *shared = value).is_ok()
}

#[unsafe(no_mangle)]
pub fn hot_lock_until(shared: &PiMutex<u64>, deadline: MonoTime) -> Option<u64> {
    shared.lock_until(deadline).map(|shared| *shared).ok()
}

#[unsafe(no_mangle)]
pub fn hot_try_lock(shared: &PiMutex<u64>) -> Option<u64> {
    shared.try_lock().map(|shared| *shared)
}

#[unsafe(no_mangle)]
pub fn hot_semaphore_post(shared: &Semaphore) -> bool {
    shared.post().is_ok()
}

#[unsafe(no_mangle)]
pub fn hot_semaphore_take(shared: &Semaphore, deadline: MonoTime) -> bool {
    shared.try_wait() || shared.wait().is_ok() || shared.wait_until(deadline) == Ok(true)
}

#[unsafe(no_mangle)]
pub fn hot_heart_beat(heart: &mut Heart) {
    heart.beat();
}

/// Functions that the check must find.
#[allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "to be found")]
pub mod injected {
    use punctual_rt::{MonoTime, Wake, now};

    #[unsafe(no_mangle)]
    pub fn injected_panic(wake: &Wake) {
        assert!(wake.woke >= wake.release, "early");
    }

    #[unsafe(no_mangle)]
    #[allow(clippy::cast_possible_truncation, reason = "to be found")]
    pub fn injected_indexing(values: &[u64], wake: &Wake) -> u64 {
        values[wake.latency().as_ns() as usize]
    }

    #[unsafe(no_mangle)]
    pub fn injected_overflow(release: MonoTime, period_ns: u64) -> u64 {
        release.as_ns() + period_ns
    }

    #[unsafe(no_mangle)]
    pub fn injected_division(wake: &Wake, by: u64) -> u64 {
        wake.index / by
    }

    #[unsafe(no_mangle)]
    pub fn injected_allocation(wake: &Wake) -> Box<Wake> {
        Box::new(*wake)
    }

    #[unsafe(no_mangle)]
    pub fn injected_far_panic(values: &[u64]) -> u64 {
        by_hand(values, now().as_ns())
    }

    #[inline(never)]
    fn by_hand(values: &[u64], at: u64) -> u64 {
        values.iter().copied().find(|value| *value > at).unwrap()
    }

    #[unsafe(no_mangle)]
    #[allow(unsafe_code, reason = "to be found")]
    pub fn injected_wrong_door() -> i32 {
        // SAFETY: takes no arguments.
        unsafe { libc::getpid() }
    }

    #[unsafe(no_mangle)]
    pub fn injected_system_call() -> u32 {
        punctual_rt::kernel::thread_id()
    }
}
