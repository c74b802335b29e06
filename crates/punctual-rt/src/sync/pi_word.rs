//! The protocol of a lock that lends priority, on one word: 0 when free, otherwise the owner's thread id, with a bit
//! that says whether the kernel must be asked on release because others wait.
//!
//! Knows nothing of what is protected; the model tests run these very lines.

use crate::Error;
use crate::atomics::{AtomicU32, Ordering};
use crate::sys::{futex_lock_pi, futex_unlock_pi, remembered_thread_id, thread_is_gone};
use punctual_hist::MonoTime;

const OWNER: u32 = libc::FUTEX_TID_MASK;
const WAITERS: u32 = libc::FUTEX_WAITERS;
const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;

/// How often the kernel may say that nobody is the owner while somebody seems to be.
const DISAGREEMENTS_MAX: u32 = 100;

/// Whether the lock was free and is now the caller's.
#[inline]
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    word.compare_exchange(0, remembered_thread_id(), Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock; `true` when the former owner ended without releasing it.
#[inline]
pub(crate) fn lock(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, Error> {
    if try_lock(word) { Ok(false) } else { lock_in_kernel(word, deadline) }
}

#[cold]
fn lock_in_kernel(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, Error> {
    let me = remembered_thread_id();
    let mut disagreements = 0u32;
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == me {
            return Err(Error::WouldDeadlock);
        }
        match futex_lock_pi(word, deadline) {
            // Taken after an owner's death, the word says so.
            Ok(()) => return Ok(word.fetch_and(!OWNER_DIED, Ordering::Acquire) & OWNER_DIED != 0),
            Err(libc::EAGAIN | libc::EINTR) => {}
            Err(libc::EDEADLK) => return Err(Error::WouldDeadlock),
            Err(libc::ETIMEDOUT) => return Err(Error::TimedOut),
            Err(libc::ESRCH) if disagreements < DISAGREEMENTS_MAX => {
                disagreements = disagreements.saturating_add(1);
                // The dead cannot take a lock: if one is the owner in the word, it has been so all the while.
                let owner_is_gone = seen & OWNER != 0 && thread_is_gone(seen & OWNER);
                let mine = (seen & WAITERS) | me;
                if owner_is_gone && word.compare_exchange(seen, mine, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Ok(true);
                }
            }
            Err(reason) => return Err(Error::Lock(reason)),
        }
    }
}

/// Releases the lock, which the caller owns.
#[inline]
pub(crate) fn unlock(word: &AtomicU32) {
    if word.compare_exchange(remembered_thread_id(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
        unlock_in_kernel(word);
    }
}

#[cold]
fn unlock_in_kernel(word: &AtomicU32) {
    // The kernel orders what was written before against whoever is given the lock. It refuses only a caller who is
    // not the owner: a guard that a fork has copied.
    while matches!(futex_unlock_pi(word), Err(libc::EAGAIN | libc::EINTR)) {}
}
