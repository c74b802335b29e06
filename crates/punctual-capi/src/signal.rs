//! A counting signal for C.

use crate::error::{done, hot};
use crate::handle;
use crate::text;
use crate::time::instant;
use punctual_rt::sync::Signal;
use std::ffi::c_int;
use std::sync::Arc;

/// A counting signal: a wait sleeps until there is a post, and takes it. Opaque.
pub struct prt_signal([u8; 0]);

handled!(prt_signal, 8: Arc<Signal>);

/// Makes a signal for the threads of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_signal_open(signal: *mut *mut prt_signal) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    done(|| unsafe { text::put(signal, || Ok(handle::open(Arc::new(Signal::new()))?)) })
}

/// Adds one. If threads are waiting, wakes the one with the highest priority. `-EOVERFLOW` if 2^31 posts were already
/// waiting.
///
/// For the loop: never blocks; enters the kernel once if a thread is waiting, otherwise not at all.
#[unsafe(no_mangle)]
pub extern "C" fn prt_signal_post(signal: *mut prt_signal) -> c_int {
    let posted = handle::shared(signal).map(|signal| signal.post());
    hot(posted.and_then(|posted| if posted { Ok(()) } else { Err(-libc::EOVERFLOW) }))
}

/// Sleeps until there is a post, and takes it.
///
/// For a loop whose wait is this call: allocates nothing.
#[unsafe(no_mangle)]
pub extern "C" fn prt_signal_wait(signal: *mut prt_signal) -> c_int {
    hot(handle::shared(signal).map(|signal| signal.wait()))
}

/// Sleeps until there is a post, and takes it; `-ETIMEDOUT` at `deadline_ns` of `CLOCK_MONOTONIC`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_signal_wait_until(signal: *mut prt_signal, deadline_ns: i64) -> c_int {
    let taken = handle::shared(signal).map(|signal| signal.wait_until(instant(deadline_ns)));
    hot(taken.and_then(|taken| if taken { Ok(()) } else { Err(-libc::ETIMEDOUT) }))
}

/// Takes one post if there is one; `-EAGAIN` otherwise.
///
/// For the loop: never enters the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn prt_signal_try_wait(signal: *mut prt_signal) -> c_int {
    let taken = handle::shared(signal).map(|signal| signal.try_wait());
    hot(taken.and_then(|taken| if taken { Ok(()) } else { Err(-libc::EAGAIN) }))
}

/// Frees a signal. `-EBUSY` while a thread waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_signal_close(signal: *mut prt_signal) -> c_int {
    done(|| handle::free(signal))
}
