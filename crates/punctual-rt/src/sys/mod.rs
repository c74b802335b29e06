//! All system calls of this crate. Apart from lock-free memory protocols, the only module with `unsafe` code.

#![allow(unsafe_code, reason = "system calls; each block says why it is sound")]

mod clock;
mod cobalt;
mod cobalt_sync;
mod core_calls;
mod debug_signal;
mod driver;
mod evl;
mod evl_monitor;
mod futex;
mod marks;
mod member;
mod memory;
mod page;
mod pause;
mod rseq;
mod sched;
mod sleep_call;
#[cfg(test)]
mod storm;

pub(crate) use clock::{Arrival, Timerfd, boot_and_monotonic, futex_wait_until, tai_time, try_sleep, wait_readable};
pub use clock::{boot_time, clock_read_cost, now, real_time, sleep_for, sleep_until, tick_length, time_stamp_counter};
#[cfg(test)]
pub(crate) use cobalt::CobaltState;
pub(crate) use cobalt::{BindRefused, CobaltCalls, CobaltSystem, SLEEP_CALL as COBALT_SLEEP};
pub(crate) use cobalt_sync::{CobaltMutex, CobaltSemaphore, map_heap};
pub(crate) use core_calls::{Caller, CountCalls, LockCalls};
#[cfg(test)]
pub(crate) use debug_signal::send_debug_signal;
pub(crate) use debug_signal::{hear_debug_signal, take_debug_cause};
pub use driver::DriverCalls;
pub(crate) use evl::{CallForm, CoreInfo, EvlCalls, EvlDevice, EvlSystem, Made, sleep_call as evl_sleep};
pub(crate) use evl_monitor::{EvlMonitor, Monitor, map_shared_memory};
pub(crate) use futex::{
    Scope, futex_lock_pi, futex_unlock_pi, futex_wait, futex_wake_one, remembered_thread_id, thread_is_gone,
};
pub(crate) use marks::{cycle_begin, cycle_end};
pub(crate) use member::{CoreMemory, Member, is_out_of_band, set_member};
pub(crate) use memory::{
    SignalMask, block_signals, could_map, keep_freed_memory, lock_all_memory, new_memory_is_resident, open_signals,
    set_signal_mask, set_timer_slack, stack_left, timer_slack, unlock_all_memory,
};
pub use memory::{ThreadUsage, thread_usage};
pub(crate) use page::{PageMemory, page_bytes};
pub(crate) use pause::TimedPause;
pub(crate) use rseq::{Poison, kernel_clears_for_switches_only};
#[cfg(test)]
pub(crate) use sched::vanish;
pub(crate) use sched::{affinity, policy, set_affinity, set_policy, set_thread_name, thread_name};
pub use sched::{current_cpu, has_thread, thread_id};
pub use sleep_call::SleepCall;

/// The calling thread's `errno`. Does not use `std::io::Error`, whose destructor can reach the allocator.
fn errno() -> i32 {
    // SAFETY: no pointers are passed.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the address is that of a variable of the calling thread.
    unsafe { place.read() }
}

/// The result of a system call; the `errno` if it is -1.
fn checked(result: libc::c_long) -> Result<libc::c_long, i32> {
    if result == -1 { Err(errno()) } else { Ok(result) }
}
