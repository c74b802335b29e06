//! Memory that cannot fault: locked, and touched before the loop.

use crate::{Error, sys};

/// Locks all memory of the process, present and future.
///
/// # Errors
/// [`Error::MemoryLock`]: neither `CAP_IPC_LOCK` nor a sufficient `RLIMIT_MEMLOCK`.
///
/// # Real-time
/// Faults in everything mapped: call before the loop.
///
/// # Kernel
/// `mlockall(MCL_CURRENT | MCL_FUTURE)`.
pub fn lock_memory() -> Result<(), Error> {
    sys::lock_all_memory().map_err(Error::MemoryLock)
}

/// Touches 64 KB of stack below the caller, so that the loop's frames are resident.
///
/// # Real-time
/// Faults: call before the loop.
#[inline(never)]
#[allow(clippy::large_stack_arrays, reason = "touching a large stack frame is the purpose")]
pub fn prefault_stack() {
    let mut frame = [0u8; 64 * 1024];
    for page in frame.chunks_mut(4096) {
        if let Some(byte) = page.first_mut() {
            *byte = core::hint::black_box(1);
        }
    }
    core::hint::black_box(&frame);
}
