//! A lock with priority inheritance: its owner runs with the priority of the most urgent waiter, so that no thread of a
//! priority in between delays both.

#![allow(unsafe_code, reason = "the protected value; each block says why it is sound")]

use super::pi_word;
use crate::atomics::Cell;
use crate::backend::{Backend, CoreLock};
use crate::{Error, LockError};
use punctual_hist::MonoTime;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;

/// A lock with priority inheritance, for threads of one process.
///
/// A loop should not need a lock: [`latest`](crate::latest()) and [`spsc`](crate::spsc) never wait. If a loop has to
/// share a structure with an ordinary thread, this lock bounds the wait by the time that the owner holds it.
///
/// There is no poisoning: a panic under the lock releases it, and the next owner finds the value as the panic left it.
/// If an owner ends without releasing the lock, because it leaked its guard, [`PiGuard::owner_died`] reports this to
/// the next owner.
///
/// ```
/// use punctual_rt::sync::PiMutex;
///
/// static GAINS: PiMutex<[f64; 2]> = PiMutex::new([1.0, 0.1]);
/// GAINS.lock()?[1] = 0.2;
/// assert_eq!(*GAINS.lock()?, [1.0, 0.2]);
/// # Ok::<(), punctual_rt::Error>(())
/// ```
///
/// A lock made by [`on`](Self::on) can be one of a real-time core. Its threads then wait for it without being taken
/// in-band; a thread of Linux that shares it joins the core with [`CoreThread::attach`](crate::CoreThread::attach) and
/// priority 0. If the owner of such a lock ends without releasing it, the lock is lost ([`LockError::OwnerDied`]).
pub struct PiMutex<T> {
    lock: Lock,
    value: Cell<T>,
}

enum Lock {
    /// The word of a futex.
    Linux(AtomicU32),
    Core(CoreLock),
}

// SAFETY: the value is reached only through a guard, and there is one guard at a time. So it moves between threads (`T:
// Send`) but is not shared by them.
unsafe impl<T: Send> Sync for PiMutex<T> {}

impl<T> PiMutex<T> {
    /// Makes a free lock of Linux around `value`.
    pub const fn new(value: T) -> Self {
        Self { lock: Lock::Linux(AtomicU32::new(0)), value: Cell::new(value) }
    }

    /// Makes a free lock of this back end, or with `None` of the core that the kernel has, as a task without
    /// [`TaskConfig::backend`](crate::TaskConfig::backend) is paced.
    ///
    /// # Errors
    /// [`SetupError::Evl`](crate::SetupError::Evl) or [`SetupError::Cobalt`](crate::SetupError::Cobalt) with the reason why
    /// the core cannot be used.
    ///
    /// # Real-time
    /// Enters the kernel and allocates: call before the loop, and drop after it.
    ///
    /// # Kernel
    /// See [`Backend`]; EVL must accept ABI 36.
    pub fn on(backend: Option<Backend>, value: T) -> Result<Self, Error> {
        let lock = CoreLock::new(backend)?.map_or(Lock::Linux(AtomicU32::new(0)), Lock::Core);
        Ok(Self { lock, value: Cell::new(value) })
    }

    /// The back end whose threads may take the lock.
    ///
    /// # Real-time
    /// Reads memory.
    pub const fn backend(&self) -> Backend {
        match &self.lock {
            Lock::Linux(_) => Backend::Linux,
            Lock::Core(lock) => lock.backend(),
        }
    }

    /// Takes the lock, and sleeps while another thread holds it.
    ///
    /// # Errors
    /// [`LockError::WouldDeadlock`] if the calling thread already holds the lock, or holds another one that its owner
    /// waits for; [`LockError::OutOfBand`] if the lock is one of Linux and held, and a real-time core paces the calling
    /// thread; [`LockError::NotOfCore`] if the lock is a core's, and the calling thread does not belong to that core;
    /// [`LockError::OwnerDied`] if the owner of a core's lock ended without releasing it; [`LockError::Refused`] if the
    /// kernel refuses for another reason (no PI futexes: `ENOSYS`). Cobalt does not notice threads that wait for each
    /// other.
    ///
    /// # Real-time
    /// Allocates nothing. A free lock costs one compare-exchange and no kernel entry; only the first lock of a thread
    /// asks the kernel for its id. If the lock is held, the call blocks until it is released; meanwhile the owner runs
    /// at the caller's priority if that is higher.
    ///
    /// # Kernel
    /// `CONFIG_FUTEX_PI`, Linux 2.6.18.
    #[inline]
    pub fn lock(&self) -> Result<PiGuard<'_, T>, LockError> {
        self.take(None)
    }

    /// Takes the lock like [`lock`](Self::lock), but gives up at `deadline`. A free lock is taken even after the
    /// deadline.
    ///
    /// # Errors
    /// The errors of `lock`, and [`LockError::TimedOut`].
    ///
    /// # Real-time
    /// As `lock`, but blocks at most until `deadline`.
    ///
    /// # Kernel
    /// Before Linux 5.14 the kernel keeps the deadline on the wall clock, so setting that clock shifts it; so does Cobalt.
    #[inline]
    pub fn lock_until(&self, deadline: MonoTime) -> Result<PiGuard<'_, T>, LockError> {
        self.take(Some(deadline))
    }

    #[inline]
    fn take(&self, deadline: Option<MonoTime>) -> Result<PiGuard<'_, T>, LockError> {
        let owner_died = match &self.lock {
            Lock::Linux(word) => pi_word::lock(word, deadline)?,
            Lock::Core(lock) => lock.lock(deadline).map(|()| false)?,
        };
        Ok(self.guard(owner_died))
    }

    /// Takes the lock if it is free.
    ///
    /// # Real-time
    /// One compare-exchange, no kernel entry. Only the first lock of a thread asks the kernel for its id. A thread of a core
    /// that is in-band enters the core, which takes it out-of-band.
    #[inline]
    pub fn try_lock(&self) -> Option<PiGuard<'_, T>> {
        let is_taken = match &self.lock {
            Lock::Linux(word) => pi_word::try_lock(word),
            Lock::Core(lock) => lock.try_lock(),
        };
        is_taken.then(|| self.guard(false))
    }

    /// The value. No lock is needed, because `self` is borrowed exclusively.
    ///
    /// # Real-time
    /// Only computes.
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

/// Access to the value of a held lock. Dropping it releases the lock.
///
/// # Real-time
/// Dropping costs one compare-exchange, and one kernel entry if another thread waits.
#[must_use = "the lock is released at once when the guard is not kept"]
pub struct PiGuard<'a, T> {
    mutex: &'a PiMutex<T>,
    owner_died: bool,
    /// The kernel identifies the owner by its thread, so the guard must stay in that thread.
    of_this_thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives only shared access to the value.
unsafe impl<T: Sync> Sync for PiGuard<'_, T> {}

impl<T> PiGuard<'_, T> {
    /// Whether the previous owner ended without releasing the lock, possibly in the middle of a change.
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
        match &self.mutex.lock {
            Lock::Linux(word) => pi_word::unlock(word),
            Lock::Core(lock) => lock.unlock(),
        }
    }
}
