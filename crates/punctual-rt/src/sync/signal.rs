//! A counting signal between threads or processes: the one that gives it never waits.

use super::semaphore::Semaphore;
use crate::sys::Scope;
use punctual_hist::MonoTime;
use std::fmt;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};

/// Counts posts; each wait takes one, and sleeps until there is one.
///
/// Share it by reference, as a `static`, or in an [`Arc`](std::sync::Arc). What was written before a post is seen by
/// whoever takes it.
///
/// ```
/// use punctual_rt::sync::Signal;
///
/// static WORK: Signal = Signal::new();
/// let helper = std::thread::spawn(|| WORK.wait());
/// WORK.post();
/// helper.join().unwrap();
/// ```
#[repr(C)]
pub struct Signal {
    semaphore: Semaphore,
    scope: Scope,
}

impl Signal {
    /// For threads of one process.
    pub const fn new() -> Self {
        Self::of(Scope::Process)
    }

    /// For threads of several processes: to be placed in memory all of them have mapped. A process that dies while
    /// it waits does no harm, except that every later post enters the kernel.
    pub const fn between_processes() -> Self {
        Self::of(Scope::Machine)
    }

    const fn of(scope: Scope) -> Self {
        Self { semaphore: Semaphore { posts: AtomicU32::new(0), waiters: AtomicU32::new(0) }, scope }
    }

    /// Adds one; if threads wait, wakes the one of the highest priority. Returns `false`, having added nothing, when
    /// 2^31 posts were waiting already.
    ///
    /// # Real-time
    /// Allocates nothing, never blocks. Enters the kernel once if a thread waits, otherwise not. Wait-free.
    #[inline]
    pub fn post(&self) -> bool {
        self.semaphore.post(self.scope)
    }

    /// Takes one, sleeping until there is one. Signals of the operating system do not end the wait.
    ///
    /// # Real-time
    /// Allocates nothing. Blocks until the post. Enters the kernel once if there was none, otherwise not.
    #[inline]
    pub fn wait(&self) {
        self.semaphore.take(None, self.scope);
    }

    /// Takes one, sleeping until there is one or `deadline` has come: `true` when it was taken. A deadline that is
    /// past already costs no kernel entry.
    ///
    /// # Real-time
    /// Allocates nothing. Blocks until the post or the deadline. Enters the kernel once if there was none.
    ///
    /// # Kernel
    /// `FUTEX_WAIT_BITSET`, Linux 2.6.25; the deadline is kept on `CLOCK_MONOTONIC`.
    #[inline]
    pub fn wait_until(&self, deadline: MonoTime) -> bool {
        self.semaphore.take(Some(deadline), self.scope)
    }

    /// Takes one if there is one: `true` when it was taken.
    ///
    /// # Real-time
    /// Lock-free. Never enters the kernel.
    #[inline]
    pub fn try_wait(&self) -> bool {
        self.semaphore.try_take()
    }

    /// Takes all there are and returns how many: after a wait, how many events came meanwhile.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn take_all(&self) -> u32 {
        self.semaphore.take_all()
    }

    /// Posts not taken yet.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn pending(&self) -> u32 {
        self.semaphore.posts.load(Acquire)
    }

    /// Threads that wait now, or are about to.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.semaphore.waiters.load(Relaxed)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("pending", &self.pending()).field("waiting", &self.waiting()).finish()
    }
}

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}
