//! Memory that cannot fault: locked, and touched before the loop.

use crate::{Error, sys};

/// What must still fit under the limit on locked memory after everything was locked. Memory yet to come counts, too, and
/// so does address space that is only set aside: the C library takes 64 MiB of it for each thread that allocates.
const ROOM_BYTES: usize = 1 << 30;

/// Locks all memory of the process, present and future.
///
/// A limit that has just room for what is there would make the next thread or allocation fail: then nothing is locked.
///
/// # Errors
/// [`Error::MemoryLock`]: neither `CAP_IPC_LOCK` nor a sufficient `RLIMIT_MEMLOCK` (1 GiB more than is in use).
///
/// # Real-time
/// Faults in everything mapped: call before the loop.
///
/// # Kernel
/// `mlockall(MCL_CURRENT | MCL_FUTURE)`.
pub fn lock_memory() -> Result<(), Error> {
    sys::lock_all_memory().map_err(Error::MemoryLock)?;
    sys::could_map(ROOM_BYTES).map_err(|errno| {
        sys::unlock_all_memory();
        Error::MemoryLock(errno)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_or_refused_the_next_thread_can_be_started() {
        let outcome = lock_memory();
        let started = std::thread::Builder::new().spawn(|| vec![1u8; 1 << 20].len());
        sys::unlock_all_memory();
        assert_eq!(started.unwrap().join().unwrap(), 1 << 20, "after {outcome:?}");
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        assert_eq!(sys::could_map(4096), Ok(()));
        assert_eq!(sys::could_map(usize::MAX / 4), Err(libc::ENOMEM));
    }
}
