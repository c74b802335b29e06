//! Kernel functions for programs around a loop: clocks, sleeps, and counters of the thread.
//!
//! Nothing here changes rights. For policies, CPUs and memory, see [`setup`](crate::setup) with its rules.

pub use crate::sys::{
    ThreadUsage, boot_time, current_cpu, has_thread, real_time, sleep_for, sleep_until, thread_id, thread_usage,
    tick_length, time_stamp_counter,
};

/// Blocks all signals in the calling thread. The kernel delivers them to the other threads of the process.
///
/// # Real-time
/// Enters the kernel: call before the loop.
///
/// # Kernel
/// Any; `SIGKILL`, `SIGSTOP` and signals that the thread itself causes (`SIGSEGV`) cannot be blocked.
pub fn block_signals() {
    crate::sys::block_signals();
}
