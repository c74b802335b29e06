//! The protocol of a lock that lends priority, on one word: 0 when free, otherwise the owner's thread id, with a bit
//! that says whether the kernel must be asked on release because others wait.
//!
//! Knows nothing of what is protected; the model tests run these very lines.

use crate::LockError;
use crate::atomics::{AtomicU32, Ordering};
use crate::sys::{futex_lock_pi, futex_unlock_pi, now, remembered_thread_id, sleep_for, thread_is_gone};
use punctual_hist::{MonoTime, Nanos};

const OWNER: u32 = libc::FUTEX_TID_MASK;
const WAITERS: u32 = libc::FUTEX_WAITERS;
const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;

/// How often, and how long apart, the kernel is asked again when its idea of the owner differs from the word's. It does
/// after an owner's death, until the first waiter, perhaps of low priority, has run and written its id into the word.
const DISAGREEMENTS_MAX: u32 = 1_000;
const DISAGREEMENT_PAUSE: Nanos = Nanos::from_us(100);

/// Whether the lock was free and is now the caller's.
#[inline]
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    word.compare_exchange(0, remembered_thread_id(), Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock; `true` when the former owner ended without releasing it.
#[inline]
pub(crate) fn lock(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, LockError> {
    if try_lock(word) { Ok(false) } else { lock_in_kernel(word, deadline) }
}

#[cold]
fn lock_in_kernel(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, LockError> {
    let me = remembered_thread_id();
    let (mut disagreements, mut known_dead) = (0u32, 0);
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == me {
            return Err(LockError::WouldDeadlock);
        }
        match futex_lock_pi(word, deadline) {
            // Passed on after an owner's death, the word says so.
            Ok(()) => return Ok(word.fetch_and(!OWNER_DIED, Ordering::Acquire) & OWNER_DIED != 0),
            Err(libc::EAGAIN | libc::EINTR) => {}
            Err(libc::EDEADLK) => return Err(LockError::WouldDeadlock),
            Err(libc::ETIMEDOUT) => return Err(LockError::TimedOut),
            Err(libc::ESRCH) if known_dead != 0 && known_dead == seen & OWNER => {
                if take_from_the_dead(word, seen, me) {
                    return Ok(true);
                }
            }
            Err(libc::ESRCH | libc::EINVAL) if disagreements < DISAGREEMENTS_MAX => {
                disagreements = disagreements.saturating_add(1);
                if deadline.is_some_and(|deadline| now() >= deadline) {
                    return Err(LockError::TimedOut);
                }
                if seen & OWNER != 0 && thread_is_gone(seen & OWNER) {
                    known_dead = seen & OWNER;
                }
                sleep_for(DISAGREEMENT_PAUSE);
            }
            Err(reason) => return Err(LockError::Refused(reason)),
        }
    }
}

/// Takes a lock whose owner was known to be dead before the kernel said that no thread waits. A dead thread cannot take a
/// lock, so if the word is unchanged, it has named that owner all the while; and no thread can have begun to wait, because
/// the kernel gives each the same answer.
fn take_from_the_dead(word: &AtomicU32, seen: u32, me: u32) -> bool {
    word.compare_exchange(seen, (seen & WAITERS) | me, Ordering::Acquire, Ordering::Relaxed).is_ok()
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
