//! Anonymous memory of which the kernel can be asked to take the pages back, and whether pages are in memory.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;

/// Memory whose contents mean nothing: anybody may write to it.
#[derive(Debug)]
pub struct Pages {
    start: *mut c_void,
    bytes: usize,
}

// SAFETY: the memory stays mapped as long as the value lives, and no reference to it is ever made.
unsafe impl Send for Pages {}
// SAFETY: as above; writes of several threads may overwrite each other, and nobody reads what they wrote.
unsafe impl Sync for Pages {}

impl Pages {
    /// The size of the steps in which memory is counted, which is the smallest page of any machine.
    pub const STEP: usize = 4096;

    /// Maps memory of `count` steps. No page of it is in memory yet, unless all memory is locked.
    pub fn map(count: usize) -> io::Result<Self> {
        let bytes = count.checked_mul(Self::STEP).filter(|bytes| *bytes > 0).ok_or(io::ErrorKind::InvalidInput)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a free address, so no other mapping is replaced.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::PRIVATE) }?;
        Ok(Self { start, bytes })
    }

    pub fn address(&self) -> usize {
        self.start as usize
    }

    pub fn count(&self) -> usize {
        self.bytes / Self::STEP
    }

    /// Writes to every page.
    pub fn touch(&self) {
        for step in 0..self.count() {
            let byte = self.start.cast::<u8>().wrapping_add(step * Self::STEP);
            // SAFETY: the byte is part of the mapping, and no reference to it exists.
            unsafe { byte.write_volatile(1) };
        }
    }

    /// Gives all pages back to the kernel, so that each faults again when it is touched. Locked memory is refused.
    pub fn give_back(&self) -> io::Result<()> {
        // SAFETY: the range is the mapping, and its contents mean nothing.
        unsafe { madvise(self.start, self.bytes, Advice::LinuxDontNeed) }?;
        Ok(())
    }

    /// Number of steps that are in memory.
    pub fn resident(&self) -> io::Result<usize> {
        let mut flags = vec![0_u8; self.count()];
        // SAFETY: the range is the mapping, and the kernel writes one byte for each page, which is at least one step.
        let done = unsafe { libc::mincore(self.start, self.bytes, flags.as_mut_ptr().cast()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let page = rustix::param::page_size().max(Self::STEP);
        let steps = page / Self::STEP;
        let pages = self.count().div_ceil(steps);
        Ok((flags.iter().take(pages).filter(|flag| **flag & 1 == 1).count() * steps).min(self.count()))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping, and nothing refers to it any more. If it fails, the memory stays mapped.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_with_a_touch_and_go_when_they_are_given_back() {
        let pages = Pages::map(32).unwrap();
        pages.touch();
        assert_eq!((pages.resident().unwrap(), pages.count()), (32, 32));
        // Another test of this process may have locked all memory.
        if pages.give_back().is_ok() {
            assert_eq!(pages.resident().unwrap(), 0);
            pages.touch();
            assert_eq!(pages.resident().unwrap(), 32);
        }
        assert!(Pages::map(0).is_err() && Pages::map(usize::MAX).is_err());
    }
}
