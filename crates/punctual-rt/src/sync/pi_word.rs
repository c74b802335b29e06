//! The protocol of a lock with priority inheritance on one word: 0 if free, otherwise the owner's thread id, with a bit
//! that shows whether the owner must ask the kernel on release because others wait.
//!
//! This module does not know what the lock protects. The model tests compile this file as well.

use crate::LockError;
use crate::atomics::{AtomicU32, Ordering};
use crate::sys::{
    futex_lock_pi, futex_unlock_pi, is_out_of_band, now, remembered_thread_id, sleep_for, thread_is_gone,
};
use punctual_hist::{MonoTime, Nanos};

const OWNER: u32 = libc::FUTEX_TID_MASK;
const WAITERS: u32 = libc::FUTEX_WAITERS;
const OWNER_DIED: u32 = libc::FUTEX_OWNER_DIED;

/// How often, and at what interval, the kernel is asked again if the owner that it knows differs from the owner in the
/// word. They differ after the death of an owner until the first waiter, which may have a low priority, has run and
/// written its id.
const DISAGREEMENTS_MAX: u32 = 1_000;
const DISAGREEMENT_PAUSE: Nanos = Nanos::from_us(100);

/// Takes the lock if it is free; returns whether it did.
#[inline]
pub(crate) fn try_lock(word: &AtomicU32) -> bool {
    word.compare_exchange(0, remembered_thread_id(), Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock; returns `true` if the previous owner ended without releasing it.
#[inline]
pub(crate) fn lock(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, LockError> {
    if try_lock(word) { Ok(false) } else { lock_in_kernel(word, deadline) }
}

#[cold]
fn lock_in_kernel(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<bool, LockError> {
    if is_out_of_band() {
        return Err(LockError::OutOfBand);
    }
    let me = remembered_thread_id();
    let (mut disagreements, mut known_dead) = (0u32, 0);
    loop {
        let seen = word.load(Ordering::Relaxed);
        if seen & OWNER == me {
            return Err(LockError::WouldDeadlock);
        }
        match futex_lock_pi(word, deadline) {
            // The kernel marks in the word that it passed the lock on after the death of the owner.
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

/// Takes a lock whose owner was known to be dead before the kernel said that no thread waits. A dead thread cannot take
/// a lock, so an unchanged word has named the same owner all the time. No thread can have begun to wait, because the
/// kernel gives each the same answer.
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
    // The kernel makes earlier writes visible to the next owner. It refuses only a caller that is not the owner, such
    // as a guard copied by a fork.
    while matches!(futex_unlock_pi(word), Err(libc::EAGAIN | libc::EINTR)) {}
}
