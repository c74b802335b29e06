//! A lock that lends its owner the priority of whoever waits, so that a thread in between cannot hold both up.

#![allow(unsafe_code, reason = "the protected value; each block says why it is sound")]

use super::pi_word;
use crate::LockError;
use crate::atomics::Cell;
use punctual_hist::MonoTime;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;

/// A lock with priority inheritance, for threads of one process.
///
/// A loop should not need one: [`latest`](crate::latest()) and [`spsc`](crate::spsc) never wait. Where it must share a
/// structure with an ordinary thread, this bounds the wait by the time the owner needs for what it does under the
/// lock.
///
/// There is no poisoning: a panic under the lock releases it and the next owner finds what is there. An owner that
/// ends without releasing it (it leaked its guard) is noticed by the next one: [`PiGuard::owner_died`].
///
/// ```
/// use punctual_rt::sync::PiMutex;
///
/// static GAINS: PiMutex<[f64; 2]> = PiMutex::new([1.0, 0.1]);
/// GAINS.lock()?[1] = 0.2;
/// assert_eq!(*GAINS.lock()?, [1.0, 0.2]);
/// # Ok::<(), punctual_rt::Error>(())
/// ```
pub struct PiMutex<T> {
    word: AtomicU32,
    value: Cell<T>,
}

// SAFETY: the value is reached only through a guard, and there is one guard at a time; hence it moves between threads
// (`T: Send`) but is not shared by them.
unsafe impl<T: Send> Sync for PiMutex<T> {}

impl<T> PiMutex<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Self {
        Self { word: AtomicU32::new(0), value: Cell::new(value) }
    }

    /// Takes the lock, sleeping while another thread holds it.
    ///
    /// # Errors
    /// [`LockError::WouldDeadlock`] when the calling thread holds it already, or holds one that its owner waits for;
    /// [`LockError::Refused`] when the kernel refuses otherwise (no PI futexes: `ENOSYS`).
    ///
    /// # Real-time
    /// Allocates nothing. Free: one compare-exchange, no kernel entry (a thread's very first lock asks for its id).
    /// Held: blocks until it is released, its owner running at the caller's priority if that is higher.
    ///
    /// # Kernel
    /// `CONFIG_FUTEX_PI`, Linux 2.6.18.
    #[inline]
    pub fn lock(&self) -> Result<PiGuard<'_, T>, LockError> {
        pi_word::lock(&self.word, None).map(|owner_died| self.guard(owner_died))
    }

    /// Like [`lock`](Self::lock), but gives up at `deadline`. A lock that is free is taken even then.
    ///
    /// # Errors
    /// Those of `lock`, and [`LockError::TimedOut`].
    ///
    /// # Real-time
    /// As `lock`, blocking until `deadline` at most.
    ///
    /// # Kernel
    /// Before Linux 5.14 the deadline is kept on the wall clock, and a step of it shifts the deadline.
    #[inline]
    pub fn lock_until(&self, deadline: MonoTime) -> Result<PiGuard<'_, T>, LockError> {
        pi_word::lock(&self.word, Some(deadline)).map(|owner_died| self.guard(owner_died))
    }

    /// Takes the lock if it is free.
    ///
    /// # Real-time
    /// One compare-exchange, no kernel entry (a thread's very first lock asks for its id).
    #[inline]
    pub fn try_lock(&self) -> Option<PiGuard<'_, T>> {
        pi_word::try_lock(&self.word).then(|| self.guard(false))
    }

    /// The value, which nobody else can reach through this borrow.
    ///
    /// # Real-time
    /// Pure.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.with_mut(|value| {
            // SAFETY: `self` is borrowed exclusively, and the result borrows `self`.
            unsafe { &mut *value }
        })
    }

    const fn guard(&self, owner_died: bool) -> PiGuard<'_, T> {
        PiGuard { mutex: self, owner_died, of_this_thread: PhantomData }
    }
}

/// The lock, held; dropping it releases the lock.
///
/// # Real-time
/// Dropping: one compare-exchange; one kernel entry if another thread waits.
#[must_use = "the lock is released at once when the guard is not kept"]
pub struct PiGuard<'a, T> {
    mutex: &'a PiMutex<T>,
    owner_died: bool,
    /// The kernel knows the owner by its thread, so the guard stays there.
    of_this_thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value only.
unsafe impl<T: Sync> Sync for PiGuard<'_, T> {}

impl<T> PiGuard<'_, T> {
    /// Whether the former owner ended without releasing the lock, perhaps half way through a change.
    pub const fn owner_died(&self) -> bool {
        self.owner_died
    }
}

impl<T> Deref for PiGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.mutex.value.with(|value| {
            // SAFETY: this is the only guard, and the result borrows it.
            unsafe { &*value }
        })
    }
}

impl<T> DerefMut for PiGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.mutex.value.with_mut(|value| {
            // SAFETY: this is the only guard, borrowed exclusively, and the result borrows it.
            unsafe { &mut *value }
        })
    }
}

impl<T> Drop for PiGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        pi_word::unlock(&self.mutex.word);
    }
}
