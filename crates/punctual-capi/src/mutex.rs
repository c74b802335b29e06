//! A lock with priority inheritance for C.
//!
//! C has no scopes that end by themselves, so the guard of the library's lock is kept here from the one call to the other.

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

/// A lock that lends its owner the priority of whoever waits for it, so that a thread in between cannot hold both up.
/// Opaque.
pub struct prt_pi_mutex([u8; 0]);

handled!(prt_pi_mutex, 16: Lock);

/// The lock, and the guard of whoever has it.
pub struct Lock {
    /// From a box, so that a guard may outlive one call.
    mutex: NonNull<PiMutex<()>>,
    /// The thread that has it, as `this_thread` counts, which no other thread ever is; 0 for none.
    holder: AtomicU64,
    guard: UnsafeCell<Option<PiGuard<'static, ()>>>,
}

// SAFETY: the guard is reached only by the thread that has the lock, and that alone drops it; the rest is made to be
// shared.
unsafe impl Sync for Lock {}

impl Lock {
    fn new() -> Self {
        let mutex = NonNull::from(Box::leak(Box::new(PiMutex::new(()))));
        Self { mutex, holder: AtomicU64::new(0), guard: UnsafeCell::new(None) }
    }

    /// For as long as this lock lives, which the caller must not exceed.
    #[inline]
    const fn mutex(&self) -> &'static PiMutex<()> {
        // SAFETY: from a box that is freed by `drop` only, and not then if there is a guard.
        unsafe { self.mutex.as_ref() }
    }

    /// Returns 1 when the former owner has ended without releasing the lock.
    #[inline]
    fn keep(&self, guard: PiGuard<'static, ()>) -> c_int {
        let owner_died = guard.owner_died();
        self.holder.store(this_thread(), Relaxed);
        // SAFETY: this thread has the lock.
        let kept = unsafe { &mut *self.guard.get() };
        // One that a dead owner left would release what now is ours.
        mem::forget(kept.replace(guard));
        c_int::from(owner_died)
    }

    #[inline]
    fn release(&self) -> Result<(), Code> {
        if self.holder.load(Relaxed) != this_thread() {
            return Err(-libc::EPERM);
        }
        // SAFETY: this thread has the lock.
        let guard = unsafe { &mut *self.guard.get() }.take();
        self.holder.store(0, Relaxed);
        drop(guard);
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.get_mut().take() {
            // Taken while it was being closed, and still held by another thread: it stays for ever.
            mem::forget(guard);
            return;
        }
        // SAFETY: from a box; nobody has it.
        drop(unsafe { Box::from_raw(self.mutex.as_ptr()) });
    }
}

/// Makes a lock for the threads of this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_pi_mutex_open(mutex: *mut *mut prt_pi_mutex) -> c_int {
    // SAFETY: null or valid, says the caller.
    done(|| unsafe { text::put(mutex, || Ok(handle::open(Lock::new())?)) })
}

fn with(mutex: *const prt_pi_mutex, take: impl FnOnce(&Lock) -> Result<c_int, Code>) -> c_int {
    match handle::shared(mutex).and_then(|lock| take(&lock)) {
        Ok(taken) => taken,
        Err(code) => code,
    }
}

/// Takes the lock, sleeping while another thread has it. Returns 0, or 1 when the thread that had it ended without
/// releasing it: what it protects may be half changed. `-EDEADLK` when the calling thread has it already.
///
/// For the loop, if it must: when the lock is free, two compare-exchanges and no kernel entry; otherwise it sleeps until
/// the owner, which runs at the caller's priority meanwhile, releases it. The first lock of a thread enters the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_lock(mutex: *mut prt_pi_mutex) -> c_int {
    with(mutex, |lock| lock.mutex().lock().map(|guard| lock.keep(guard)).map_err(errno))
}

/// As `prt_pi_mutex_lock`, but gives up at `deadline_ns` of `CLOCK_MONOTONIC`: `-ETIMEDOUT` then.
///
/// For the loop, if it must.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_lock_until(mutex: *mut prt_pi_mutex, deadline_ns: i64) -> c_int {
    let deadline = instant(deadline_ns);
    with(mutex, |lock| lock.mutex().lock_until(deadline).map(|guard| lock.keep(guard)).map_err(errno))
}

/// Takes the lock if it is free, `-EBUSY` otherwise.
///
/// For the loop: never waits.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_try_lock(mutex: *mut prt_pi_mutex) -> c_int {
    with(mutex, |lock| lock.mutex().try_lock().map(|guard| lock.keep(guard)).ok_or(-libc::EBUSY))
}

/// Releases the lock; `-EPERM` when the calling thread does not have it.
///
/// For the loop: enters the kernel only if a thread waits.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_unlock(mutex: *mut prt_pi_mutex) -> c_int {
    hot(handle::shared(mutex).and_then(|lock| lock.release()))
}

/// Frees a lock. `-EBUSY` while a thread has it or waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn prt_pi_mutex_close(mutex: *mut prt_pi_mutex) -> c_int {
    done(|| {
        if handle::shared(mutex)?.holder.load(Relaxed) != 0 {
            return Err((-libc::EBUSY).into());
        }
        handle::free(mutex)
    })
}
