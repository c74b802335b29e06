//! Every contact with the kernel. The only module of this crate that may be unsafe.

#![allow(unsafe_code, reason = "system calls; each block says why it is sound")]

mod clock;
mod memory;
mod sched;

pub use clock::{
    Timerfd, boot_time, futex_wait_until, now, real_time, sleep_for, sleep_until, tick_length, time_stamp_counter,
};
pub use memory::{
    SignalMask, ThreadUsage, block_signals, could_map, keep_freed_memory, lock_all_memory, new_memory_is_resident,
    open_signals, set_signal_mask, set_timer_slack, stack_left, thread_usage, timer_slack, unlock_all_memory,
};
pub use sched::{affinity, current_cpu, policy, set_affinity, set_policy, thread_id};

/// The calling thread's `errno`.
fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// A system call's result: `errno` when it is -1.
fn checked(result: libc::c_long) -> Result<libc::c_long, i32> {
    if result == -1 { Err(errno()) } else { Ok(result) }
}
