//! Every contact with the kernel. The only module of this crate that may be unsafe.

#![allow(unsafe_code, reason = "system calls; each block says why it is sound")]

mod clock;
mod memory;
mod pause;
mod rseq;
mod sched;

pub use clock::{
    Timerfd, boot_time, futex_wait_until, now, real_time, sleep_for, sleep_until, tick_length, time_stamp_counter,
    wait_readable,
};
pub use memory::{
    ThreadUsage, block_signals, could_map, lock_all_memory, set_timer_slack_to_least, thread_usage, unlock_all_memory,
};
pub use pause::{TimedPause, counter};
pub use rseq::{Poison, kernel_clears_for_switches_only};
pub use sched::{affinity, current_cpu, policy, set_affinity, set_policy, thread_id};

/// The calling thread's `errno`. Not by way of `std::io::Error`, whose destructor can reach the allocator.
fn errno() -> i32 {
    // SAFETY: no pointers are passed.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the address is that of the calling thread's own variable.
    unsafe { place.read() }
}

/// A system call's result: `errno` when it is -1.
fn checked(result: libc::c_long) -> Result<libc::c_long, i32> {
    if result == -1 { Err(errno()) } else { Ok(result) }
}
