//! Small things that programs around a loop ask of the kernel: clocks, sleeps, counters of the thread.
//!
//! Nothing here gives rights or takes them; policies, CPUs and memory are [`setup`](crate::setup)'s, with its rules.

pub use crate::sys::{
    ThreadUsage, boot_time, current_cpu, real_time, sleep_for, sleep_until, thread_id, thread_usage, tick_length,
    time_stamp_counter,
};

/// Lets no signal interrupt the calling thread, whose process's other threads take them.
///
/// # Real-time
/// Enters the kernel: call before the loop.
///
/// # Kernel
/// Any; `SIGKILL`, `SIGSTOP` and what the thread itself causes (`SIGSEGV`) are not held off.
pub fn block_signals() {
    crate::sys::block_signals();
}
