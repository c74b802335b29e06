//! The counter of a signal: posts add one, takers subtract one, and the kernel is entered only if a thread sleeps.
//!
//! This module does not know where its words lie. The model tests compile this file as well.

use crate::atomics::{AtomicU32, Ordering, fence};
use crate::sys::{Scope, futex_wait, futex_wake_one, now};
use punctual_hist::MonoTime;

/// Largest number of posts that are kept; further posts are dropped.
const POSTS_MAX: u32 = 1 << 31;

/// The complete state; it does not depend on its address.
#[repr(C)]
pub(crate) struct Posts {
    pub(crate) posts: AtomicU32,
    /// Number of threads that sleep or are about to.
    pub(crate) waiters: AtomicU32,
}

impl Posts {
    /// Adds one, and wakes a sleeper if there is one. Returns `false` if [`POSTS_MAX`] were already waiting.
    ///
    /// The fences here and in [`take`](Self::take) form a pair: either `post` sees the waiter, or the waiter sees the
    /// post.
    #[inline]
    pub(crate) fn post(&self, scope: Scope) -> bool {
        if self.posts.fetch_add(1, Ordering::Release) >= POSTS_MAX {
            self.posts.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) != 0 {
            futex_wake_one(&self.posts, scope);
        }
        true
    }

    /// Subtracts one if the counter is not zero.
    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        let one_less = |posts: u32| posts.checked_sub(1);
        self.posts.fetch_update(Ordering::Acquire, Ordering::Relaxed, one_less).is_ok()
    }

    /// Sets the counter to zero and returns its previous value.
    #[inline]
    pub(crate) fn take_all(&self) -> u32 {
        self.posts.swap(0, Ordering::Acquire)
    }

    /// Subtracts one, and sleeps until that is possible; `false` if the deadline came first.
    pub(crate) fn take(&self, deadline: Option<MonoTime>, scope: Scope) -> bool {
        if self.try_take() {
            return true;
        }
        if deadline.is_some_and(|deadline| now() >= deadline) {
            return false;
        }
        self.waiters.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let taken = loop {
            if self.try_take() {
                break true;
            }
            if !futex_wait(&self.posts, 0, deadline, scope) {
                break self.try_take();
            }
        };
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        taken
    }
}
