//! Memory that others change while we read it, accessed as atomic words.

use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

const WORD: usize = size_of::<u64>();

#[derive(Debug)]
pub struct SharedWords {
    /// The beginning of the mapping, which is that of a page.
    page: NonNull<u8>,
    bytes: usize,
    start: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for SharedWords {}
// SAFETY: the memory is accessed only as atomic words.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps `count` words from byte `from` of the memory of `fd`, which is a multiple of 8, for reading and writing.
    pub fn map(fd: impl AsFd, from: u64, count: usize) -> io::Result<Self> {
        let page = rustix::param::page_size() as u64;
        let (first_page, into) = (from / page * page, usize::try_from(from % page).unwrap_or(usize::MAX));
        let bytes = count.checked_mul(WORD).and_then(|words| words.checked_add(into));
        let bytes = bytes.filter(|_| into % WORD == 0).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let mapped = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, first_page) }?;
        let page = NonNull::new(mapped.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: `into` is less than the length that was mapped.
        let start = unsafe { page.add(into) }.cast();
        Ok(Self { page, bytes, start, count })
    }

    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `map` mapped `count` words at an address that is a multiple of a word's size. They stay mapped
        // while `self` lives. Atomic words may be changed by others.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: there are no references to the memory any more.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), self.bytes) };
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
        let shared = SharedWords::map(&file, 0, 2).unwrap();
        assert_eq!(shared.words()[1].load(Relaxed), 8);
        shared.words()[0].store(9, Relaxed);
        let mut word = [0; 8];
        file.rewind().unwrap();
        file.read_exact(&mut word).unwrap();
        assert_eq!(u64::from_ne_bytes(word), 9);
        assert!(SharedWords::map(&file, 0, usize::MAX).is_err());
        assert_eq!(SharedWords::map(&file, 8, 1).unwrap().words()[0].load(Relaxed), 8);
        assert!(SharedWords::map(&file, 4, 1).is_err());
    }
}
