//! Memory that does not page-fault in the loop: locked, and touched before the loop starts.
//!
//! Locking applies to the whole process. Threads that rely on locked memory are counted here, so that one thread does
//! not unlock memory that another still needs.

use crate::{Error, SetupError, sys};
use std::sync::{Mutex, PoisonError};

/// Room that must remain under the limit on locked memory after all present memory was locked. Later memory counts as
/// well, even reserved address space: glibc reserves 64 MiB for each thread that allocates.
pub(crate) const ROOM_BYTES: usize = 1 << 30;

/// Bytes at the lower end of a stack that stay untouched, for the frames of the function that touches the rest.
const STACK_RESERVE_BYTES: usize = 16 * 1024;

/// What to do with memory before a loop starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Memory is neither locked nor touched in advance.
    #[default]
    Leave,
    /// Lock all memory of the process, present and future, and touch some in advance.
    ///
    /// A later `fork` undoes this silently: pages become copy-on-write, and the loop faults once for each page that it
    /// writes (measured: 104 faults, and the longest body took half as long again). Start other programs before the
    /// loop, or with `posix_spawn` or `vfork`, as `system` and `popen` of current C libraries do.
    Lock {
        /// Bytes of the thread's stack to touch.
        stack_bytes: usize,
        /// Bytes of heap to touch and return to the allocator, which then keeps them; 0 leaves the allocator alone.
        /// They are available to the thread that touched them: with glibc each thread has an arena, which is at most 64
        /// MiB except for the main thread.
        heap_bytes: usize,
    },
}

/// Number of threads that rely on a state of the process, and whether the process was in this state before the first of
/// these threads.
struct Holders {
    count: usize,
    was_so: bool,
}

static LOCKED: Mutex<Holders> = Mutex::new(Holders { count: 0, was_so: false });
static KEPT: Mutex<Holders> = Mutex::new(Holders { count: 0, was_so: false });

impl Holders {
    fn add(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Removes one holder. Returns whether the state must be undone: no holder is left, and the state did not exist
    /// before the first holder.
    fn remove(&mut self) -> bool {
        self.count = self.count.saturating_sub(1);
        self.count == 0 && !self.was_so
    }
}

fn held(of: &'static Mutex<Holders>) -> std::sync::MutexGuard<'static, Holders> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks all memory of the process, present and future.
///
/// If the limit has room only for the present memory, nothing is locked, because the next thread or allocation would
/// fail.
///
/// # Errors
/// [`SetupError::MemoryLock`] without `CAP_IPC_LOCK` and with an `RLIMIT_MEMLOCK` of less than 1 GiB above the memory
/// in use.
///
/// # Real-time
/// Faults in everything mapped: call before the loop.
///
/// # Kernel
/// `mlockall(MCL_CURRENT | MCL_FUTURE)`.
pub fn lock_memory() -> Result<(), Error> {
    let mut holders = held(&LOCKED);
    if holders.count == 0 {
        holders.was_so = sys::new_memory_is_resident() == Some(true);
    }
    sys::lock_all_memory().map_err(SetupError::MemoryLock)?;
    if let Err(errno) = sys::could_map(ROOM_BYTES) {
        if holders.count == 0 && !holders.was_so {
            sys::unlock_all_memory();
        }
        return Err(Error::Setup(SetupError::MemoryLock(errno)));
    }
    holders.add();
    Ok(())
}

/// Undoes one [`lock_memory`]. Memory stays locked while other threads rely on it, or if it was locked before the first
/// call.
pub(crate) fn unlock_memory() {
    if held(&LOCKED).remove() {
        sys::unlock_all_memory();
    }
}

/// Touches `bytes` bytes of stack below the caller's frame, so that later frames do not fault.
///
/// # Errors
/// [`SetupError::Stack`] if the stack has less room; nothing was touched.
///
/// # Real-time
/// Faults: call before the loop.
pub fn prefault_stack(bytes: usize) -> Result<(), Error> {
    let room = sys::stack_left().unwrap_or(0).saturating_sub(STACK_RESERVE_BYTES);
    if bytes > room {
        return Err(Error::Setup(SetupError::Stack { room_bytes: room }));
    }
    let here = 0u8;
    touch_down_to((&raw const here).addr().saturating_sub(bytes));
    core::hint::black_box(&here);
    Ok(())
}

/// Touches one frame and calls itself, until a frame reaches `lowest`.
#[inline(never)]
fn touch_down_to(lowest: usize) {
    let mut frame = [0u8; 2048];
    let here = (&raw const frame).addr();
    core::hint::black_box(&mut frame);
    if here > lowest {
        touch_down_to(lowest);
    }
    // Keeps the frame in use until here, so that the compiler cannot turn the recursion into a loop.
    core::hint::black_box(&mut frame);
}

/// Touches `bytes` bytes of heap and returns them to the allocator, which keeps freed memory from then on. The next
/// `bytes` bytes that this thread allocates do not fault.
///
/// # Errors
/// [`SetupError::Heap`] if memory is short; [`SetupError::Allocator`] if the C library (any but glibc) has no setting
/// to keep freed memory.
///
/// # Real-time
/// Allocates and faults: call before the loop.
pub(crate) fn prefault_heap(bytes: usize) -> Result<(), Error> {
    let mut holders = held(&KEPT);
    if !sys::keep_freed_memory(true) {
        return Err(Error::Setup(SetupError::Allocator));
    }
    holders.add();
    drop(holders);
    let mut heap = Vec::new();
    if heap.try_reserve_exact(bytes).is_err() {
        release_heap();
        return Err(Error::Setup(SetupError::Heap(libc::ENOMEM)));
    }
    heap.resize(bytes, 0u8);
    core::hint::black_box(&mut heap);
    Ok(())
}

/// Undoes one [`prefault_heap`]: resets the thresholds of the C library to their defaults. The library no longer adapts
/// them automatically, and values set by other parts of the program are lost.
pub(crate) fn release_heap() {
    if held(&KEPT).remove() {
        sys::keep_freed_memory(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_or_refused_the_next_thread_can_be_started() {
        let outcome = lock_memory();
        let started = std::thread::Builder::new().spawn(|| vec![1u8; 1 << 20].len());
        if outcome.is_ok() {
            unlock_memory();
        }
        assert_eq!(started.unwrap().join().unwrap(), 1 << 20, "after {outcome:?}");
    }

    #[test]
    fn more_than_there_is_room_for_is_refused() {
        assert_eq!(sys::could_map(4096), Ok(()));
        assert_eq!(sys::could_map(usize::MAX / 4), Err(libc::ENOMEM));
    }

    /// Page faults of a thread with a stack of 1 MiB that uses 512 KiB of it.
    fn faults_of_a_deep_call(first: impl FnOnce() + Send + 'static) -> u64 {
        let deep = || {
            first();
            let before = sys::thread_usage().faults;
            let here = 0u8;
            touch_down_to((&raw const here).addr() - 512 * 1024);
            sys::thread_usage().faults - before
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(deep).unwrap().join().unwrap()
    }

    #[test]
    fn a_touched_stack_does_not_fault() {
        let without = faults_of_a_deep_call(|| ());
        let with = faults_of_a_deep_call(|| prefault_stack(600 * 1024).unwrap());
        // If another test has locked memory, or pages are large, there is no difference to observe.
        assert!(with <= 2, "{with} faults after touching, {without} without");
    }

    #[test]
    fn all_the_stack_there_is_can_be_touched_and_no_more() {
        let touch = || {
            let Err(Error::Setup(SetupError::Stack { room_bytes: room })) = prefault_stack(usize::MAX) else {
                panic!("not refused")
            };
            // The C library may allocate a larger stack than requested.
            assert!(room > 200 * 1024, "{room}");
            assert!(matches!(prefault_stack(room + 64 * 1024), Err(Error::Setup(SetupError::Stack { .. }))));
            prefault_stack(room - 4096)
        };
        let touched = std::thread::Builder::new().stack_size(256 * 1024).spawn(touch).unwrap().join();
        assert_eq!(touched.unwrap(), Ok(()));
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn a_touched_heap_stays() {
        let faults = || {
            prefault_heap(8 << 20).unwrap();
            let before = sys::thread_usage().faults;
            let mut used = vec![1u8; 4 << 20];
            core::hint::black_box(&mut used);
            sys::thread_usage().faults - before
        };
        let faults = std::thread::spawn(faults).join().unwrap();
        release_heap();
        assert!(faults < 16, "{faults} faults in 1024 pages");
    }

    #[test]
    fn a_heap_that_cannot_be_had_is_refused() {
        let gnu = cfg!(target_env = "gnu");
        let expected = if gnu { SetupError::Heap(libc::ENOMEM) } else { SetupError::Allocator };
        assert_eq!(prefault_heap(usize::MAX / 2), Err(expected.into()));
    }
}
