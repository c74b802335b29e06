//! A counting semaphore of Linux or of a real-time core for C.

use crate::config;
use crate::error::{done, errno, hot};
use crate::handle;
use crate::text;
use crate::time::instant;
use punctual_rt::sync::Semaphore;
use std::ffi::c_int;

/// A counting semaphore that Linux or a real-time core serves: a wait sleeps until there is a post, and takes it. Opaque.
pub struct prt_semaphore([u8; 0]);

handled!(prt_semaphore, 19: Semaphore);

/// Makes a semaphore of one of `PRT_BACKEND_...` with this number of posts, at most 2^31 - 1, for the threads of this
/// process. On a real-time core, every thread may post it, but only threads of the core may wait; other threads get
/// `-EPERM` until they join the core (`prt_core_thread_open`).
///
/// Not for the loop: allocates and enters the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_open(semaphore: *mut *mut prt_semaphore, backend: u32, posts: u32) -> c_int {
    done(|| {
        let open = || Ok(handle::open(Semaphore::on(config::backend(backend)?, posts)?)?);
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(semaphore, open) }
    })
}

/// Adds one. If threads are waiting, wakes the one with the highest priority. `-EOVERFLOW` if no more posts can be kept.
///
/// For the loop: never blocks; enters the kernel once if a thread is waiting, otherwise not at all.
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_post(semaphore: *mut prt_semaphore) -> c_int {
    hot(handle::shared(semaphore).and_then(|semaphore| semaphore.post().map_err(errno)))
}

/// Sleeps until there is a post, and takes it. `-EOPNOTSUPP` if there is none, the semaphore is one of Linux, and a
/// real-time core paces the calling thread.
///
/// For a loop whose wait is this call: allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_wait(semaphore: *mut prt_semaphore) -> c_int {
    hot(handle::shared(semaphore).and_then(|semaphore| semaphore.wait().map_err(errno)))
}

/// Sleeps until there is a post, and takes it; `-ETIMEDOUT` at `deadline_ns` of `CLOCK_MONOTONIC`.
///
/// For a loop whose wait is this call: allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_wait_until(semaphore: *mut prt_semaphore, deadline_ns: i64) -> c_int {
    let taken =
        handle::shared(semaphore).and_then(|semaphore| semaphore.wait_until(instant(deadline_ns)).map_err(errno));
    hot(taken.and_then(|taken| if taken { Ok(()) } else { Err(-libc::ETIMEDOUT) }))
}

/// Takes one post if there is one; `-EAGAIN` otherwise.
///
/// For the loop: never enters the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_try_wait(semaphore: *mut prt_semaphore) -> c_int {
    let taken = handle::shared(semaphore).map(|semaphore| semaphore.try_wait());
    hot(taken.and_then(|taken| if taken { Ok(()) } else { Err(-libc::EAGAIN) }))
}

/// Frees a semaphore. `-EBUSY` while a thread waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_close(semaphore: *mut prt_semaphore) -> c_int {
    done(|| handle::free(semaphore))
}
