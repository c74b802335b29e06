//! Memory that the kernel changes while we read it, accessed as atomic words.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

const WORD: usize = size_of::<u64>();

#[derive(Debug)]
pub struct SharedWords {
    start: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for SharedWords {}
// SAFETY: the memory is accessed only as atomic words.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps the first `count` words of the memory of `fd` for reading and writing.
    pub fn map(fd: impl AsFd, count: usize) -> io::Result<Self> {
        let bytes = count.checked_mul(WORD).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, count })
    }

    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `map` mapped `count` words at the beginning of a page, which stay mapped while `self` lives. Atomic
        // words may be changed by others.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: there are no references to the memory any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.count * WORD) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn what_is_written_on_one_side_is_read_on_the_other() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7_u64.to_ne_bytes(), 8_u64.to_ne_bytes()].concat()).unwrap();
        let shared = SharedWords::map(&file, 2).unwrap();
        assert_eq!(shared.words()[1].load(Relaxed), 8);
        shared.words()[0].store(9, Relaxed);
        let mut word = [0; 8];
        file.rewind().unwrap();
        file.read_exact(&mut word).unwrap();
        assert_eq!(u64::from_ne_bytes(word), 9);
        assert!(SharedWords::map(&file, usize::MAX).is_err());
    }
}
