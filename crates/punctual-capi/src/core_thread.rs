//! Threads of a C program that belong to a real-time core without being paced by it.

use crate::config;
use crate::error::{PRT_E_PRIORITY, done};
use crate::handle::{self, Owned};
use crate::text;
use punctual_rt::{Backend, CoreThread};
use std::ffi::c_int;

/// The calling thread as a thread of a real-time core. Opaque.
pub struct prt_core_thread([u8; 0]);

handled!(prt_core_thread, 20: Owned<CoreThread>);

/// Makes the calling thread one of a real-time core, so that it may use the locks and semaphores of that core. Threads that
/// the core paces belong to it already. With `priority` 0 the thread remains one of Linux between its calls of the core;
/// with 1 to 95 it stays out-of-band until it enters Linux. `PRT_BACKEND_AUTO` stands for the core that the kernel has,
/// and `PRT_BACKEND_LINUX` is refused with `-EINVAL`. Locks the memory of the process. Close it in the same thread.
///
/// Not for the loop: allocates, faults, enters the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_core_thread_open(thread: *mut *mut prt_core_thread, backend: u32, priority: u32) -> c_int {
    done(|| {
        let open = || {
            let backend = config::backend(backend)?.unwrap_or_else(of_kernel);
            let priority = u8::try_from(priority).map_err(|_| PRT_E_PRIORITY)?;
            Ok(handle::open_owned(Owned::new(CoreThread::attach(backend, priority)?))?)
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(thread, open) }
    })
}

/// The core that the kernel has, or else Linux, which has no such threads.
fn of_kernel() -> Backend {
    let can_be_used = |backend: &Backend| backend.look().is_ok();
    [Backend::Evl, Backend::Cobalt].into_iter().find(can_be_used).unwrap_or(Backend::Linux)
}

/// Lets the thread leave the core. Release the core's locks before.
///
/// Only for the thread that opened it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_core_thread_close(thread: *mut prt_core_thread) -> c_int {
    done(|| handle::free(thread))
}
