//! Futexes: waiting on a word of memory, waking waiters, and locks with priority inheritance.

use super::{checked, clock::timespec, now, real_time};
use punctual_hist::MonoTime;
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Which threads may wait on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Threads of this process, which is cheaper.
    Process,
    /// Threads of all processes that have mapped the memory.
    Machine,
}

impl Scope {
    const fn flag(self) -> libc::c_int {
        match self {
            Self::Process => libc::FUTEX_PRIVATE_FLAG,
            Self::Machine => 0,
        }
    }
}

// These functions are not inlined: the proof that a loop cannot panic or allocate recognises them by name. They and the
// wait are the only functions by which a loop may enter the kernel.

/// Sleeps while `word` is `expected`, at most until `deadline`. Returns `false` if the deadline was reached. It may
/// return early for any reason, so the caller must check its word again.
///
/// # Real-time
/// One kernel entry.
#[inline(never)]
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, deadline: Option<MonoTime>, scope: Scope) -> bool {
    let operation = libc::FUTEX_WAIT_BITSET | scope.flag();
    let time = deadline.map(|t| timespec(t.as_ns()));
    let time = time.as_ref().map_or(null(), std::ptr::from_ref);
    let any = libc::FUTEX_BITSET_MATCH_ANY;
    // SAFETY: word and time outlive the call; the kernel only reads them.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, time, null::<u32>(), any) };
    checked(result) != Err(libc::ETIMEDOUT)
}

/// Wakes one thread that waits on `word`, the one with the highest priority.
///
/// # Real-time
/// One kernel entry, bounded.
#[inline(never)]
pub(crate) fn futex_wake_one(word: &AtomicU32, scope: Scope) {
    let operation = libc::FUTEX_WAKE | scope.flag();
    // SAFETY: the kernel uses the address only to find waiters.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
}

/// Whether the kernel knows `FUTEX_LOCK_PI2` (Linux 5.14), whose time-out is on the monotonic clock.
static HAS_LOCK_PI2: AtomicBool = AtomicBool::new(true);

/// Takes the lock at `word` in the kernel, which meanwhile runs the lock's owner at the caller's priority.
///
/// # Errors
/// The `errno`: `EDEADLK`, `ETIMEDOUT`, `ESRCH` if the owner has ended, `EAGAIN` and `EINTR` to try again.
///
/// # Kernel
/// `CONFIG_FUTEX_PI`. Before Linux 5.14 a deadline is on the wall clock, so setting that clock shifts it.
pub(crate) fn futex_lock_pi(word: &AtomicU32, deadline: Option<MonoTime>) -> Result<(), i32> {
    let Some(deadline) = deadline else {
        return lock_pi(word, libc::FUTEX_LOCK_PI, None);
    };
    if HAS_LOCK_PI2.load(Relaxed) {
        let result = lock_pi(word, libc::FUTEX_LOCK_PI2, Some(deadline.as_ns()));
        if result != Err(libc::ENOSYS) {
            return result;
        }
        HAS_LOCK_PI2.store(false, Relaxed);
    }
    lock_pi(word, libc::FUTEX_LOCK_PI, Some(real_time().saturating_add((deadline - now()).as_ns())))
}

#[inline(never)]
fn lock_pi(word: &AtomicU32, operation: libc::c_int, deadline: Option<u64>) -> Result<(), i32> {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let time = deadline.map(timespec);
    let time = time.as_ref().map_or(null(), std::ptr::from_ref);
    // SAFETY: word and time outlive the call. The word is used only by the protocol of PI futexes.
    checked(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 0, time) }).map(drop)
}

/// Passes the lock at `word` to the first waiter, or frees it.
///
/// # Errors
/// The `errno`: `EPERM` if the caller does not own the lock, `EAGAIN` and `EINTR` to try again.
#[inline(never)]
pub(crate) fn futex_unlock_pi(word: &AtomicU32) -> Result<(), i32> {
    let operation = libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call, and is used only by the protocol of PI futexes.
    checked(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation) }).map(drop)
}

thread_local! {
    /// The thread's id; 0 until it is asked for.
    static THREAD_ID: Cell<u32> = const { Cell::new(0) };
}

/// The id of the calling thread. Enters the kernel only at the first call of a thread.
#[inline]
pub(crate) fn remembered_thread_id() -> u32 {
    let known = THREAD_ID.try_with(Cell::get).unwrap_or(0);
    if known == 0 { ask_for_thread_id() } else { known }
}

/// Not inlined: the proof that a lock cannot panic or allocate recognises it by name.
#[cold]
#[inline(never)]
fn ask_for_thread_id() -> u32 {
    static IN_CHILDREN: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget() {
        let _ = THREAD_ID.try_with(|id| id.set(0));
    }
    if !IN_CHILDREN.swap(true, Relaxed) {
        // The thread of a forked child has another id than its parent.
        // SAFETY: the handler only writes to the thread's own memory. If memory is short and registering fails, only
        // locks taken in a forked child are affected.
        unsafe { libc::pthread_atfork(None, None, Some(forget)) };
    }
    let id = super::thread_id();
    let _ = THREAD_ID.try_with(|known| known.set(id));
    id
}

/// Whether this process has no thread with this id.
#[inline(never)]
#[allow(clippy::cast_possible_wrap, reason = "thread ids are below 2^22")]
pub(crate) fn thread_is_gone(id: u32) -> bool {
    // SAFETY: no pointers are passed.
    let process = unsafe { libc::getpid() };
    // SAFETY: no pointers are passed; signal 0 is never delivered.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, id as libc::pid_t, 0) };
    checked(result) == Err(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockError;
    use crate::sync::{PiMutex, Signal};
    use punctual_hist::Nanos;

    /// Tests the code for Linux before 5.14.
    #[test]
    #[cfg_attr(miri, ignore = "a system call unknown there")]
    fn without_the_newer_lock_call_deadlines_are_kept_all_the_same() {
        HAS_LOCK_PI2.store(false, Relaxed);
        let (mutex, give_up) = (PiMutex::new(()), Signal::new());
        std::thread::scope(|scope| {
            let guard = mutex.lock();
            let waiter = scope.spawn(|| {
                let deadline = now() + Nanos::from_ms(5);
                let result = mutex.lock_until(deadline).err();
                let kept = now() >= deadline;
                give_up.post();
                (result, kept, mutex.lock_until(now() + Nanos::from_ms(20_000)).is_ok())
            });
            give_up.wait();
            drop(guard);
            assert_eq!(waiter.join().ok(), Some((Some(LockError::TimedOut), true, true)));
        });
    }
}
