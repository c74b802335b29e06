//! A lock with priority inheritance for C.
//!
//! C has no scopes that release a lock by themselves, so the guard of the Rust lock is kept here between two calls.

use crate::config;
use crate::error::{Code, done, errno, hot};
use crate::handle::{self, this_thread};
use crate::text;
use crate::time::instant;
use punctual_rt::sync::{PiGuard, PiMutex};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A lock with priority inheritance: its owner runs with the priority of the most urgent waiter, so that no thread of a
/// priority in between delays both. Opaque.
pub struct prt_pi_mutex([u8; 0]);

handled!(prt_pi_mutex, 16: Lock);

/// The lock, and the guard of the thread that holds it.
pub struct Lock {
    /// Allocated in a box, so that a guard can live longer than one call.
    mutex: NonNull<PiMutex<()>>,
    /// The thread that holds the lock, as numbered by `this_thread`; 0 for none.
    holder: AtomicU64,
    guard: UnsafeCell<Option<PiGuard<'static, ()>>>,
}

// SAFETY: only the thread that holds the lock reaches and drops the guard. All other members can be shared.
unsafe impl Sync for Lock {}

impl Lock {
    fn new(mutex: PiMutex<()>) -> Self {
        let mutex = NonNull::from(Box::leak(Box::new(mutex)));
        Self { mutex, holder: AtomicU64::new(0), guard: UnsafeCell::new(None) }
    }

    /// The lock, with a lifetime that the caller must not let exceed that of `self`.
    #[inline]
    const fn mutex(&self) -> &'static PiMutex<()> {
        // SAFETY: points to a box that only `drop` frees, and only if there is no guard.
        unsafe { self.mutex.as_ref() }
    }

    /// Keeps the guard. Returns 1 if the previous owner ended without releasing the lock, otherwise 0.
    #[inline]
    fn keep(&self, guard: PiGuard<'static, ()>) -> c_int {
        let owner_died = guard.owner_died();
        self.holder.store(this_thread(), Relaxed);
        // SAFETY: this thread holds the lock, so no other thread reaches the guard.
        let kept = unsafe { &mut *self.guard.get() };
        // A guard left behind by an owner that ended must not be dropped: dropping would release the lock that this
        // thread now holds.
        mem::forget(kept.replace(guard));
        c_int::from(owner_died)
    }

    #[inline]
    fn release(&self) -> Result<(), Code> {
        if self.holder.load(Relaxed) != this_thread() {
            return Err(-libc::EPERM);
        }
        // SAFETY: this thread holds the lock, so no other thread reaches the guard.
        let guard = unsafe { &mut *self.guard.get() }.take();
        self.holder.store(0, Relaxed);
        drop(guard);
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.get_mut().take() {
            // Another thread took the lock while it was being closed, and still holds it. The lock's memory is never
            // freed.
            mem::forget(guard);
            return;
        }
        // SAFETY: points to a box, and no thread holds the lock.
        drop(unsafe { Box::from_raw(self.mutex.as_ptr()) });
    }
}

/// Makes a lock for the threads of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pi_mutex_open(mutex: *mut *mut prt_pi_mutex) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    done(|| unsafe { text::put(mutex, || Ok(handle::open(Lock::new(PiMutex::new(())))?)) })
}

/// Makes a lock of one of `PRT_BACKEND_...` for the threads of this process. On a real-time core, the threads that the
/// core paces wait for it without being taken in-band. Other threads get `-EPERM` from all calls that take it, until they
/// join the core (`prt_core_thread_open`). If the owner of a core's lock ends without releasing it, the lock is lost, and
/// the calls return `-EOWNERDEAD`.
///
/// Not for the loop: allocates and enters the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pi_mutex_open_on(mutex: *mut *mut prt_pi_mutex, backend: u32) -> c_int {
    done(|| {
        let open = || Ok(handle::open(Lock::new(PiMutex::on(config::backend(backend)?, ())?))?);
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(mutex, open) }
    })
}

fn with(mutex: *const prt_pi_mutex, take: impl FnOnce(&Lock) -> Result<c_int, Code>) -> c_int {
    match handle::shared(mutex).and_then(|lock| take(&lock)) {
        Ok(taken) => taken,
        Err(code) => code,
    }
}

/// Takes the lock, and sleeps while another thread holds it. Returns 0, or 1 if the previous owner ended without
/// releasing the lock: the data that it protects may be incomplete. `-EDEADLK` if the calling thread already holds it.
///
/// For the loop, if necessary: a free lock costs two compare-exchanges and no kernel entry. Otherwise the call sleeps
/// until the owner releases the lock; meanwhile the owner runs at the caller's priority. The first lock of a thread
/// enters the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_lock(mutex: *mut prt_pi_mutex) -> c_int {
    with(mutex, |lock| lock.mutex().lock().map(|guard| lock.keep(guard)).map_err(errno))
}

/// Takes the lock as `prt_pi_mutex_lock` does, but gives up with `-ETIMEDOUT` at `deadline_ns` of `CLOCK_MONOTONIC`.
///
/// For the loop, if necessary.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_lock_until(mutex: *mut prt_pi_mutex, deadline_ns: i64) -> c_int {
    let deadline = instant(deadline_ns);
    with(mutex, |lock| lock.mutex().lock_until(deadline).map(|guard| lock.keep(guard)).map_err(errno))
}

/// Takes the lock if it is free; `-EBUSY` otherwise.
///
/// For the loop: never waits.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_try_lock(mutex: *mut prt_pi_mutex) -> c_int {
    with(mutex, |lock| lock.mutex().try_lock().map(|guard| lock.keep(guard)).ok_or(-libc::EBUSY))
}

/// Releases the lock; `-EPERM` if the calling thread does not hold it.
///
/// For the loop: enters the kernel only if a thread waits.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_unlock(mutex: *mut prt_pi_mutex) -> c_int {
    hot(handle::shared(mutex).and_then(|lock| lock.release()))
}

/// Frees a lock. `-EBUSY` while a thread holds it or waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_close(mutex: *mut prt_pi_mutex) -> c_int {
    done(|| {
        if handle::shared(mutex)?.holder.load(Relaxed) != 0 {
            return Err((-libc::EBUSY).into());
        }
        handle::free(mutex)
    })
}
