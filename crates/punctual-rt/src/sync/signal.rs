//! A counting signal between threads or processes. Posting it never waits.

use super::posts::Posts;
use crate::sys::Scope;
use punctual_hist::MonoTime;
use std::fmt;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed},
};

/// Counts posts. Each wait sleeps until there is a post, and takes it.
///
/// Share it by reference, as a `static`, or in an [`Arc`](std::sync::Arc). The thread that takes a post sees everything
/// that was written before the post.
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
    posts: Posts,
    scope: Scope,
}

impl Signal {
    /// Makes a signal for threads of one process.
    pub const fn new() -> Self {
        Self::of(Scope::Process)
    }

    /// Makes a signal for threads of several processes, to be placed in memory that all of them have mapped. If a
    /// process dies while it waits, every later post enters the kernel, without further harm.
    pub const fn between_processes() -> Self {
        Self::of(Scope::Machine)
    }

    const fn of(scope: Scope) -> Self {
        Self { posts: Posts { posts: AtomicU32::new(0), waiters: AtomicU32::new(0) }, scope }
    }

    /// Adds one. If threads are waiting, wakes the one with the highest priority. Returns `false`, without adding
    /// anything, if 2^31 posts were already waiting.
    ///
    /// # Real-time
    /// Wait-free, allocates nothing, never blocks. Enters the kernel once if a thread is waiting, otherwise not at all.
    #[inline]
    pub fn post(&self) -> bool {
        self.posts.post(self.scope)
    }

    /// Sleeps until there is a post, and takes it. Operating system signals do not end the wait.
    ///
    /// # Real-time
    /// Allocates nothing. Blocks until there is a post. Enters the kernel once if there was none, otherwise not at all.
    #[inline]
    pub fn wait(&self) {
        self.posts.take(None, self.scope);
    }

    /// Sleeps until there is a post and takes it, or until `deadline` has come. Returns `true` if it took a post. If
    /// the deadline is past, the kernel is not entered.
    ///
    /// # Real-time
    /// Allocates nothing. Blocks until there is a post or the deadline comes. Enters the kernel once if there was no
    /// post.
    ///
    /// # Kernel
    /// `FUTEX_WAIT_BITSET`, Linux 2.6.25; the deadline is on `CLOCK_MONOTONIC`.
    #[inline]
    pub fn wait_until(&self, deadline: MonoTime) -> bool {
        self.posts.take(Some(deadline), self.scope)
    }

    /// Takes one post if there is one. Returns `true` if it took a post.
    ///
    /// # Real-time
    /// Lock-free. Never enters the kernel.
    #[inline]
    pub fn try_wait(&self) -> bool {
        self.posts.try_take()
    }

    /// Takes all posts and returns their number, which after a wait is the number of events meanwhile.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn take_all(&self) -> u32 {
        self.posts.take_all()
    }

    /// Number of posts that were not taken yet.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn pending(&self) -> u32 {
        self.posts.posts.load(Acquire)
    }

    /// Number of threads that are waiting, or are about to.
    ///
    /// # Real-time
    /// Wait-free. Never enters the kernel.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.posts.waiters.load(Relaxed)
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
