//! The words of a lock and of a semaphore that a real-time core shares with its threads. A lock that is free, and a
//! semaphore for which no thread waits, are used without entering the core.
//!
//! A lock's word is 0 if free, otherwise the owner's handle, with bits by which the core marks that threads wait. The
//! owner then leaves the release to the core. A semaphore's word is the number of posts or, below zero, of waiters; only
//! the core changes a number below zero. EVL and Cobalt share these rules.
//!
//! Whoever gets a lock or a post sees what was written before the release or the post, whichever of the two went through the
//! core. No memory order is assumed of the core itself.
//!
//! This module does not know how a core is called. The model tests compile this file as well.

use crate::LockError;
use crate::atomics::{AtomicU32, Ordering, fence};
use crate::sys::{Caller, CountCalls, LockCalls};
use punctual_hist::MonoTime;

/// Largest number of posts of a semaphore. The cores count with a sign.
pub(crate) const POSTS_MAX: u32 = i32::MAX.unsigned_abs();

/// Takes the lock if it is free; returns whether it did.
#[inline]
pub(crate) fn try_lock<C: LockCalls>(word: &AtomicU32, caller: Caller, calls: &C) -> bool {
    if may_exchange(caller) { exchange(word, caller) } else { try_lock_in_core(word, caller, calls) }
}

#[cold]
fn try_lock_in_core<C: LockCalls>(word: &AtomicU32, caller: Caller, calls: &C) -> bool {
    if word.load(Ordering::Relaxed) & C::OWNER == caller.handle {
        return false;
    }
    loop {
        match calls.try_enter() {
            Err(libc::EINTR) => {}
            done => {
                word.load(Ordering::Acquire);
                return done.is_ok();
            }
        }
    }
}

/// Whether the thread may take a free lock without the core.
#[inline]
const fn may_exchange(caller: Caller) -> bool {
    !caller.is_in_band && !caller.tells_all
}

#[inline]
fn exchange(word: &AtomicU32, caller: Caller) -> bool {
    word.compare_exchange(0, caller.handle, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Takes the lock.
#[inline]
pub(crate) fn lock<C: LockCalls>(
    word: &AtomicU32,
    caller: Caller,
    calls: &C,
    deadline: Option<MonoTime>,
) -> Result<(), LockError> {
    if may_exchange(caller) && exchange(word, caller) { Ok(()) } else { lock_in_core(word, caller, calls, deadline) }
}

#[cold]
fn lock_in_core<C: LockCalls>(
    word: &AtomicU32,
    caller: Caller,
    calls: &C,
    deadline: Option<MonoTime>,
) -> Result<(), LockError> {
    if word.load(Ordering::Relaxed) & C::OWNER == caller.handle {
        return Err(LockError::WouldDeadlock);
    }
    loop {
        match calls.enter(deadline) {
            Ok(()) => {
                word.load(Ordering::Acquire);
                return Ok(());
            }
            Err(libc::EINTR) => {}
            Err(libc::EDEADLK) => return Err(LockError::WouldDeadlock),
            Err(libc::ETIMEDOUT) => return Err(LockError::TimedOut),
            Err(libc::EOWNERDEAD) => return Err(LockError::OwnerDied),
            Err(libc::EPERM) => return Err(LockError::NotOfCore),
            Err(reason) => return Err(LockError::Refused(reason)),
        }
    }
}

/// Releases the lock, which the caller owns.
#[inline]
pub(crate) fn unlock<C: LockCalls>(word: &AtomicU32, caller: Caller, calls: &C) {
    let is_free =
        !caller.tells_all && word.compare_exchange(caller.handle, 0, Ordering::Release, Ordering::Relaxed).is_ok();
    if !is_free {
        unlock_in_core(calls);
    }
}

#[cold]
fn unlock_in_core<C: LockCalls>(calls: &C) {
    fence(Ordering::Release);
    // The core refuses only a caller that is not the owner, such as a guard that outlived the thread's time on the core.
    while calls.exit() == Err(libc::EINTR) {}
}

/// Subtracts one if there is a post.
#[inline]
pub(crate) fn try_take(word: &AtomicU32) -> bool {
    let one_less = |posts: u32| if (1..=POSTS_MAX).contains(&posts) { posts.checked_sub(1) } else { None };
    word.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_less).is_ok()
}

/// Sleeps until there is a post, and takes it; `false` if the deadline came first.
#[cold]
pub(crate) fn take_in_core<C: CountCalls>(
    word: &AtomicU32,
    calls: &C,
    deadline: Option<MonoTime>,
) -> Result<bool, LockError> {
    loop {
        match calls.wait(deadline) {
            Ok(()) => {
                word.load(Ordering::Acquire);
                return Ok(true);
            }
            Err(libc::EINTR) => {}
            Err(libc::ETIMEDOUT) => return Ok(false),
            Err(libc::EPERM) => return Err(LockError::NotOfCore),
            Err(reason) => return Err(LockError::Refused(reason)),
        }
    }
}

/// Adds one, or lets the core wake a waiter.
#[inline]
pub(crate) fn post<C: CountCalls>(word: &AtomicU32, calls: &C) -> Result<(), LockError> {
    let one_more = |posts: u32| if posts < POSTS_MAX { posts.checked_add(1) } else { None };
    match word.fetch_update(Ordering::Release, Ordering::Relaxed, one_more) {
        Ok(_) => Ok(()),
        Err(POSTS_MAX) => Err(LockError::Refused(libc::EOVERFLOW)),
        Err(_) => post_in_core(calls),
    }
}

#[cold]
fn post_in_core<C: CountCalls>(calls: &C) -> Result<(), LockError> {
    fence(Ordering::Release);
    loop {
        match calls.post() {
            Err(libc::EINTR) => {}
            done => return done.map_err(LockError::Refused),
        }
    }
}
