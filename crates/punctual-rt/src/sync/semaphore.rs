//! A counting semaphore of Linux or of a real-time core: the same calls on each.

use super::posts::Posts;
use crate::backend::{Backend, CoreCount};
use crate::sys::{Scope, is_out_of_band};
use crate::{Error, LockError};
use punctual_hist::MonoTime;
use std::fmt;
use std::sync::atomic::AtomicU32;

/// Counts posts. Each wait sleeps until there is a post, and takes it.
///
/// This is a [`Signal`](super::Signal) that a real-time core can serve, too. There, threads of the core wait for it without
/// being taken in-band, and any thread may post it. So a thread of Linux hands work to an out-of-band loop:
///
/// ```
/// use punctual_rt::Backend;
/// use punctual_rt::sync::Semaphore;
///
/// let work = Semaphore::on(Some(Backend::Linux), 0)?; // `None`: the core, where the kernel has one
/// std::thread::scope(|scope| {
///     let helper = scope.spawn(|| work.wait());
///     work.post()?;
///     helper.join().unwrap()
/// })?;
/// # Ok::<(), punctual_rt::Error>(())
/// ```
///
/// A thread of Linux that is to wait for a semaphore of a core joins the core with
/// [`CoreThread::attach`](crate::CoreThread::attach) and priority 0.
pub struct Semaphore(Kind);

enum Kind {
    Linux(Posts),
    Core(CoreCount),
}

impl Semaphore {
    /// Makes a semaphore of Linux with this number of posts, for threads of one process.
    pub const fn new(posts: u32) -> Self {
        Self(Kind::Linux(Posts { posts: AtomicU32::new(posts), waiters: AtomicU32::new(0) }))
    }

    /// Makes a semaphore of this back end, or with `None` of the core that the kernel has, as a task without
    /// [`TaskConfig::backend`](crate::TaskConfig::backend) is paced. At most 2^31 - 1 posts are kept.
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
    pub fn on(backend: Option<Backend>, posts: u32) -> Result<Self, Error> {
        Ok(CoreCount::new(backend, posts)?.map_or_else(|| Self::new(posts), |count| Self(Kind::Core(count))))
    }

    /// The back end whose threads may wait.
    ///
    /// # Real-time
    /// Reads memory.
    pub const fn backend(&self) -> Backend {
        match &self.0 {
            Kind::Linux(_) => Backend::Linux,
            Kind::Core(count) => count.backend(),
        }
    }

    /// Adds one. If threads are waiting, wakes the one with the highest priority.
    ///
    /// # Errors
    /// [`LockError::Refused`] with `EOVERFLOW` if as many posts as can be kept were already waiting, and with the core's
    /// `errno` if it refuses.
    ///
    /// # Real-time
    /// Allocates nothing, never blocks. Enters the kernel, or the core, once if a thread is waiting, otherwise not at
    /// all. Stays out-of-band, unless a thread of a core posts a semaphore of Linux for which a thread waits.
    #[inline]
    pub fn post(&self) -> Result<(), LockError> {
        match &self.0 {
            Kind::Linux(posts) => {
                if posts.post(Scope::Process) {
                    Ok(())
                } else {
                    Err(LockError::Refused(libc::EOVERFLOW))
                }
            }
            Kind::Core(count) => count.post(),
        }
    }

    /// Sleeps until there is a post, and takes it. Operating system signals do not end the wait.
    ///
    /// # Errors
    /// Only if there is no post yet: [`LockError::NotOfCore`] if the semaphore is a core's and the calling thread does not
    /// belong to that core; [`LockError::OutOfBand`] if it is one of Linux and a core paces the calling thread;
    /// [`LockError::Refused`] with the core's `errno`.
    ///
    /// # Real-time
    /// Allocates nothing. Blocks until there is a post. Enters the kernel, or the core, once if there was none, otherwise
    /// not at all.
    #[inline]
    pub fn wait(&self) -> Result<(), LockError> {
        self.take(None).map(drop)
    }

    /// Sleeps until there is a post and takes it, or until `deadline` has come. Returns whether it took a post.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    ///
    /// # Real-time
    /// As `wait`, but blocks at most until `deadline`.
    #[inline]
    pub fn wait_until(&self, deadline: MonoTime) -> Result<bool, LockError> {
        self.take(Some(deadline))
    }

    #[inline]
    fn take(&self, deadline: Option<MonoTime>) -> Result<bool, LockError> {
        match &self.0 {
            Kind::Linux(posts) => {
                if posts.try_take() {
                    Ok(true)
                } else if is_out_of_band() {
                    Err(LockError::OutOfBand)
                } else {
                    Ok(posts.take(deadline, Scope::Process))
                }
            }
            Kind::Core(count) => count.take(deadline),
        }
    }

    /// Takes a post if there is one; returns whether it did.
    ///
    /// # Real-time
    /// Lock-free. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn try_wait(&self) -> bool {
        match &self.0 {
            Kind::Linux(posts) => posts.try_take(),
            Kind::Core(count) => count.try_take(),
        }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Member, set_member};
    use punctual_hist::Nanos;

    #[test]
    fn posts_are_taken_one_by_one_and_a_deadline_is_kept() {
        let semaphore = Semaphore::new(1);
        assert_eq!(semaphore.wait(), Ok(()));
        assert_eq!(semaphore.wait_until(crate::now() + Nanos::from_ms(1)), Ok(false));
        assert_eq!((semaphore.post(), semaphore.post()), (Ok(()), Ok(())));
        assert_eq!(semaphore.wait_until(crate::now()), Ok(true));
        assert!(semaphore.try_wait() && !semaphore.try_wait());
    }

    #[test]
    fn a_thread_of_a_core_takes_a_post_of_linux_but_does_not_wait_for_one() {
        let semaphore = Semaphore::new(1);
        set_member(Some(Member { handle: 5, window_offset: 0 }));
        let taken = (semaphore.wait(), semaphore.wait(), semaphore.wait_until(crate::now()));
        set_member(None);
        assert_eq!(taken, (Ok(()), Err(LockError::OutOfBand), Err(LockError::OutOfBand)));
    }

    #[test]
    fn more_posts_than_can_be_kept_are_refused() {
        assert_eq!(Semaphore::new(1 << 31).post(), Err(LockError::Refused(libc::EOVERFLOW)));
    }

    #[test]
    fn linux_serves_where_it_is_asked_for() {
        assert_eq!(Semaphore::on(Some(Backend::Linux), 3).map(|semaphore| semaphore.backend()), Ok(Backend::Linux));
    }
}
