//! What a real-time core and the threads that belong to it share: the core's handle of the calling thread, and memory in
//! which the core keeps the state of threads, locks and semaphores.

use super::Caller;
use std::cell::Cell;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The calling thread, as a real-time core knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// 0 if the core did not tell.
    pub(crate) handle: u32,
    /// Where in the shared memory the core keeps the state of the thread.
    pub(crate) window_offset: u32,
}

thread_local! {
    /// Futexes belong to Linux, so waiting on one takes a thread of a core in-band.
    static MEMBER: Cell<Option<Member>> = const { Cell::new(None) };
}

/// Notes whether the calling thread belongs to a real-time core.
pub(crate) fn set_member(member: Option<Member>) {
    let _ = MEMBER.try_with(|is| is.set(member));
}

/// The calling thread as the core knows it; `None` if it belongs to none.
#[inline]
fn member() -> Option<Member> {
    MEMBER.try_with(Cell::get).unwrap_or(None)
}

/// Whether a real-time core paces the calling thread.
#[inline]
pub(crate) fn is_out_of_band() -> bool {
    member().is_some()
}

/// Memory that a core shares with this process. It is mapped once for the process and never unmapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreMemory {
    base: NonNull<u8>,
    bytes: usize,
    /// The bits of a thread's state by which the core has to be told of every lock, or [`Self::ALWAYS`].
    tells_all: u32,
}

/// The bit of a thread's state that says that the thread is in-band. Both cores have the same.
const IN_BAND: u32 = 0x80;

// SAFETY: the memory stays mapped, and is only used as atomic words.
unsafe impl Send for CoreMemory {}
// SAFETY: as above.
unsafe impl Sync for CoreMemory {}

impl CoreMemory {
    /// The core is told of every lock, whatever the state of a thread.
    pub(super) const ALWAYS: u32 = u32::MAX;

    /// # Safety
    /// The memory must stay mapped for as long as the process lives, and must be accessed as atomic words only.
    pub(super) const unsafe fn new(base: NonNull<u8>, bytes: usize, tells_all: u32) -> Self {
        Self { base, bytes, tells_all }
    }

    /// Maps what `descriptor` stands for.
    pub(super) fn map(descriptor: RawFd, bytes: usize, tells_all: u32) -> Result<Self, i32> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
        if base == libc::MAP_FAILED {
            return Err(super::errno());
        }
        let base = NonNull::new(base.cast()).ok_or(libc::EFAULT)?;
        // SAFETY: nothing unmaps it, and only `word` reaches it.
        Ok(unsafe { Self::new(base, bytes, tells_all) })
    }

    /// The word at `offset`; `None` if the offset does not lie in the memory, or is not that of a word.
    #[inline]
    pub(crate) fn word(self, offset: u32) -> Option<&'static AtomicU32> {
        let offset = offset as usize;
        let end = offset.checked_add(size_of::<AtomicU32>())?;
        if end > self.bytes || offset.checked_rem(align_of::<AtomicU32>()) != Some(0) {
            return None;
        }
        // SAFETY: the offset lies in the memory.
        let word = unsafe { self.base.add(offset) };
        // SAFETY: the word lies in memory that stays mapped, is aligned, and is accessed atomically only.
        Some(unsafe { word.cast::<AtomicU32>().as_ref() })
    }

    /// The calling thread, if it belongs to the core.
    #[inline]
    pub(crate) fn caller(self) -> Option<Caller> {
        let Member { handle, window_offset } = member().filter(|member| member.handle != 0)?;
        let state = self.word(window_offset)?.load(Relaxed);
        let tells_all = self.tells_all == Self::ALWAYS || state & self.tells_all != 0;
        Some(Caller { handle, is_in_band: state & IN_BAND != 0, tells_all })
    }

    /// Memory of a test, in place of a core's.
    #[cfg(test)]
    pub(crate) fn of_test(words: usize) -> Self {
        let words: &'static [AtomicU32] = Vec::leak((0..words).map(|_| AtomicU32::new(0)).collect());
        let base = NonNull::from(words).cast();
        // SAFETY: the memory is leaked, and consists of atomic words.
        unsafe { Self::new(base, size_of_val(words), 0x100) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn only_words_within_the_memory_are_to_be_had() {
        let memory = CoreMemory::of_test(3);
        memory.word(8).expect("the last word").store(7, Relaxed);
        assert_eq!(memory.word(8).map(|word| word.load(Relaxed)), Some(7));
        for outside in [12, 9, 1, u32::MAX, u32::MAX - 3] {
            assert!(memory.word(outside).is_none(), "{outside}");
        }
    }
}
