//! Locks and semaphores of the Cobalt core. User space describes each by a structure, its *shadow*, that the core fills.

use super::clock::timespec;
use super::cobalt::{self, call};
use super::{CoreMemory, CountCalls, LockCalls, checked, now, real_time};
use punctual_hist::MonoTime;
use std::cell::UnsafeCell;
use std::os::fd::RawFd;

const SEMAPHORE_INIT: libc::c_long = call(10);
const SEMAPHORE_DESTROY: libc::c_long = call(11);
const SEMAPHORE_POST: libc::c_long = call(12);
const SEMAPHORE_WAIT: libc::c_long = call(13);
const MUTEX_INIT: libc::c_long = call(26);
const MUTEX_DESTROY: libc::c_long = call(28);
const MUTEX_LOCK: libc::c_long = call(29);
const MUTEX_TRY_LOCK: libc::c_long = call(31);
const MUTEX_UNLOCK: libc::c_long = call(32);
const MAP: libc::c_long = call(85);
/// These two take 64-bit seconds.
const SEMAPHORE_TIMED_WAIT: libc::c_long = call(102);
const MUTEX_TIMED_LOCK: libc::c_long = call(108);

/// Size and free bytes of a heap, as the core tells them.
type HeapState = [u32; 2];
const HEAP_STATE: u32 = super::evl::request::<HeapState>(2, 10, 0);

/// The core's description of a lock.
#[derive(Default)]
#[repr(C)]
struct MutexShadow {
    magic: u32,
    nesting: u32,
    state_offset: u32,
    handle: u32,
    attributes: u32,
}

/// The core's description of a semaphore.
#[derive(Default)]
#[repr(C)]
struct SemaphoreShadow {
    magic: u32,
    state_offset: i32,
    handle: u32,
}

/// The deadlines of semaphores are on the monotonic clock.
const RAW_CLOCK: u32 = 0x20;

#[repr(C)]
struct Mapping {
    offset: u64,
    bytes: usize,
    protection: libc::c_int,
    flags: libc::c_int,
}

/// Maps the heap in which the core keeps the locks, semaphores and threads of this process.
pub(crate) fn map_heap() -> Result<CoreMemory, i32> {
    let heap = checked(cobalt::open(c"/dev/rtdm/memdev-private"))?;
    let heap = RawFd::try_from(heap).map_err(|_| libc::EBADF)?;
    let mapped = map(heap);
    cobalt::close(heap);
    mapped
}

fn map(heap: RawFd) -> Result<CoreMemory, i32> {
    let mut state = HeapState::default();
    // SAFETY: the core fills a structure of the size that is part of the number.
    checked(unsafe { cobalt::ioctl(heap, HEAP_STATE, (&raw mut state).cast()) })?;
    let [bytes, _] = state;
    let bytes = bytes as usize;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    let mapping = Mapping { offset: 0, bytes, protection, flags };
    let mut address = std::ptr::null_mut::<u8>();
    // SAFETY: the core chooses the address, and writes it.
    checked(unsafe { libc::syscall(MAP, heap, &raw const mapping, &raw mut address) })?;
    let base = std::ptr::NonNull::new(address).ok_or(libc::EFAULT)?;
    // What the core shows there of a thread's state was seen not to say that the thread was in-band. A lock that such a
    // thread takes without the core would be held in-band, and its owner could not be raised above threads of the core.
    // SAFETY: nothing unmaps it, and only words are reached in it.
    Ok(unsafe { CoreMemory::new(base, bytes, CoreMemory::ALWAYS) })
}

/// A lock of the core with priority inheritance, which ends when this value is dropped. The core writes to the shadow.
pub(crate) struct CobaltMutex(Box<UnsafeCell<MutexShadow>>);

// SAFETY: after its creation, only the core accesses the shadow, and it takes care of calls by several threads.
unsafe impl Send for CobaltMutex {}
// SAFETY: as above.
unsafe impl Sync for CobaltMutex {}

impl CobaltMutex {
    /// Makes a lock, and returns it with the place of its word in the heap.
    pub(crate) fn new() -> Result<(Self, u32), i32> {
        /// The first three bits say that a second lock by the owner is an error, the next three that the owner inherits
        /// priorities.
        const ATTRIBUTES: u32 = 2 | 1 << 3;
        let (mutex, attributes) = (Self(Box::default()), ATTRIBUTES);
        // SAFETY: both structures are as large as the core's own.
        checked(unsafe { libc::syscall(MUTEX_INIT, mutex.0.get(), &raw const attributes) })?;
        // SAFETY: the core has filled the shadow, and no other thread has it yet.
        let offset = unsafe { (*mutex.0.get()).state_offset };
        Ok((mutex, offset))
    }

    #[inline]
    fn call(&self, number: libc::c_long) -> Result<(), i32> {
        // SAFETY: the shadow outlives the call.
        checked(unsafe { libc::syscall(number, self.0.get()) }).map(drop)
    }
}

/// What the core says of a lock whose owner it does not know any more is that the lock was removed.
fn owner_is_gone(errno: i32) -> i32 {
    if errno == libc::EINVAL { libc::EOWNERDEAD } else { errno }
}

impl LockCalls for CobaltMutex {
    const OWNER: u32 = 0x5FFF_FFFF;

    #[inline(never)]
    fn enter(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
        let Some(deadline) = deadline else { return self.call(MUTEX_LOCK).map_err(owner_is_gone) };
        // The core takes deadlines of locks on the wall clock.
        let at = timespec(real_time().saturating_add((deadline - now()).as_ns()));
        // SAFETY: the shadow and the instant outlive the call.
        let result = unsafe { libc::syscall(MUTEX_TIMED_LOCK, self.0.get(), &raw const at) };
        checked(result).map(drop).map_err(owner_is_gone)
    }

    #[inline(never)]
    fn try_enter(&self) -> Result<(), i32> {
        self.call(MUTEX_TRY_LOCK)
    }

    #[inline(never)]
    fn exit(&self) -> Result<(), i32> {
        self.call(MUTEX_UNLOCK)
    }
}

impl Drop for CobaltMutex {
    fn drop(&mut self) {
        // A lock that is held is not destroyed before the process ends.
        let _ = self.call(MUTEX_DESTROY);
    }
}

/// A semaphore of the core, which ends when this value is dropped. The core writes to the shadow.
pub(crate) struct CobaltSemaphore(Box<UnsafeCell<SemaphoreShadow>>);

// SAFETY: after its creation, only the core accesses the shadow, and it takes care of calls by several threads.
unsafe impl Send for CobaltSemaphore {}
// SAFETY: as above.
unsafe impl Sync for CobaltSemaphore {}

impl CobaltSemaphore {
    /// Makes a semaphore, and returns it with the place of its word in the heap.
    pub(crate) fn new(posts: u32) -> Result<(Self, u32), i32> {
        let semaphore = Self(Box::default());
        // SAFETY: the structure is as large as the core's own.
        checked(unsafe { libc::syscall(SEMAPHORE_INIT, semaphore.0.get(), RAW_CLOCK, posts) })?;
        // SAFETY: the core has filled the shadow, and no other thread has it yet.
        let offset = unsafe { (*semaphore.0.get()).state_offset };
        Ok((semaphore, u32::try_from(offset).map_err(|_| libc::EINVAL)?))
    }

    #[inline]
    fn call(&self, number: libc::c_long) -> Result<(), i32> {
        // SAFETY: the shadow outlives the call.
        checked(unsafe { libc::syscall(number, self.0.get()) }).map(drop)
    }
}

impl CountCalls for CobaltSemaphore {
    #[inline(never)]
    fn wait(&self, deadline: Option<MonoTime>) -> Result<(), i32> {
        let Some(deadline) = deadline else { return self.call(SEMAPHORE_WAIT) };
        let at = timespec(deadline.as_ns());
        // SAFETY: the shadow and the instant outlive the call.
        checked(unsafe { libc::syscall(SEMAPHORE_TIMED_WAIT, self.0.get(), &raw const at) }).map(drop)
    }

    #[inline(never)]
    fn post(&self) -> Result<(), i32> {
        self.call(SEMAPHORE_POST)
    }
}

impl Drop for CobaltSemaphore {
    fn drop(&mut self) {
        let _ = self.call(SEMAPHORE_DESTROY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The core reads and writes as many bytes as these.
    #[test]
    fn structures_are_as_large_as_those_of_the_core() {
        assert_eq!((size_of::<MutexShadow>(), size_of::<SemaphoreShadow>()), (20, 12));
        assert_eq!((size_of::<Mapping>(), format!("{HEAP_STATE:#x}")), (24, "0x80080a00".to_owned()));
    }
}
