//! Memory for a statistics page: a sealed memfd that other processes may map read-only, or private memory if the kernel
//! has none. Also the read-only mapping of another process's page.
//!
//! This module does not know what the words mean. It relies on a head followed by slots, and on zero bytes being valid.

use super::{checked, errno};
use crate::page::{CycleSlot, Head};
use std::alloc::Layout;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Without these seals, the owner could remove pages of the mapping while another process reads it.
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
const NO_EXEC_SEAL: libc::c_uint = 8;
const FUTURE_WRITE_SEAL: i32 = 0x10;
const SMALLEST_PAGE: usize = 4096;

/// The memory of one statistics page.
pub(crate) struct PageMemory {
    start: NonNull<u8>,
    bytes: usize,
    origin: Origin,
}

enum Origin {
    /// Created here. Other processes find it through the descriptor, which stays open as long as the page is used.
    Sealed { _descriptor: OwnedFd },
    /// Created here and private, because the kernel refused shared memory with this `errno`.
    Private(Layout, i32),
    /// The page of another process, mapped read-only.
    Foreign,
}

// SAFETY: the value owns the memory, which does not move and is accessed only through atomics.
unsafe impl Send for PageMemory {}
// SAFETY: the value owns the memory, which does not move and is accessed only through atomics.
unsafe impl Sync for PageMemory {}

/// The size in bytes of a page with `slots` slots.
pub(crate) fn page_bytes(slots: u32) -> usize {
    size_of::<Head>().saturating_add((slots as usize).saturating_mul(size_of::<CycleSlot>()))
}

impl PageMemory {
    /// Makes a page of zeros with `slots` slots, resident in memory. It is shared under `name` if the kernel supports
    /// it.
    ///
    /// # Errors
    /// The `errno` if no memory can be allocated at all.
    pub(crate) fn create(name: &CStr, slots: u32) -> Result<Self, i32> {
        let bytes = page_bytes(slots);
        Self::sealed(name, bytes).or_else(|refused| Self::private(bytes, refused))
    }

    fn sealed(name: &CStr, bytes: usize) -> Result<Self, i32> {
        if cfg!(miri) {
            return Err(libc::ENOSYS);
        }
        let descriptor = memfd(name)?;
        let length = libc::off_t::try_from(bytes).map_err(|_| libc::EFBIG)?;
        // SAFETY: no pointers are passed.
        checked(unsafe { libc::ftruncate(descriptor.as_raw_fd(), length) }.into())?;
        let start = map(&descriptor, bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_POPULATE)?;
        let page = Self { start, bytes, origin: Origin::Sealed { _descriptor: descriptor } };
        page.seal()?;
        Ok(page)
    }

    /// Forbids changing the size and, since Linux 5.1, mapping the page for writing from now on.
    fn seal(&self) -> Result<(), i32> {
        let Origin::Sealed { _descriptor: descriptor } = &self.origin else { return Ok(()) };
        let add = |seals: i32| {
            // SAFETY: no pointers are passed.
            let result = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_ADD_SEALS, seals) };
            checked(result.into()).map(drop)
        };
        let size_and_seals = SIZE_SEALS | libc::F_SEAL_SEAL;
        add(size_and_seals | FUTURE_WRITE_SEAL).or_else(|_| add(size_and_seals))
    }

    fn private(bytes: usize, refused: i32) -> Result<Self, i32> {
        let layout = Layout::from_size_align(bytes, SMALLEST_PAGE).map_err(|_| libc::ENOMEM)?;
        if bytes < size_of::<Head>() {
            return Err(libc::EINVAL);
        }
        // SAFETY: the size was compared with zero above.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = NonNull::new(memory).ok_or(libc::ENOMEM)?;
        for offset in (0..bytes).step_by(SMALLEST_PAGE) {
            // SAFETY: the offset is within the allocation.
            let byte = unsafe { start.add(offset) };
            // SAFETY: the byte belongs to the allocation. It is written so that no later write faults.
            unsafe { byte.write_volatile(0) };
        }
        Ok(Self { start, bytes, origin: Origin::Private(layout, refused) })
    }

    /// Maps the page of another process read-only, if its size cannot change and is that of a head and `slots` slots.
    ///
    /// # Errors
    /// `EPERM` without the seals, `EMSGSIZE` if the size is different, or the kernel's `errno`.
    pub(crate) fn map_foreign(file: &std::fs::File, slots: u32) -> Result<Self, i32> {
        // SAFETY: no pointers are passed.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals == -1 || seals & SIZE_SEALS != SIZE_SEALS {
            return Err(libc::EPERM);
        }
        // The length is read after the seals, so it cannot change any more.
        let length = file.metadata().map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?.len();
        let bytes = page_bytes(slots);
        if length != bytes as u64 {
            return Err(libc::EMSGSIZE);
        }
        let start = map(file, bytes, libc::PROT_READ, 0)?;
        Ok(Self { start, bytes, origin: Origin::Foreign })
    }

    /// Whether other processes can find the page; otherwise the `errno` of the reason.
    pub(crate) fn shared(&self) -> Result<(), i32> {
        match self.origin {
            Origin::Private(_, refused) => Err(refused),
            Origin::Sealed { .. } | Origin::Foreign => Ok(()),
        }
    }

    /// The page without its slots.
    #[inline]
    pub(crate) fn head(&self) -> &Head {
        // SAFETY: the memory is aligned to a page, at least as large as a head, and lives as long as `self`. A head
        // consists of atomics, for which all bytes are valid and which others may change. A foreign page is only loaded
        // from.
        unsafe { self.start.cast::<Head>().as_ref() }
    }

    /// The slots of the flight recorder.
    #[inline]
    pub(crate) fn slots(&self) -> &[CycleSlot] {
        // SAFETY: all constructors make the memory at least as large as a head.
        let first = unsafe { self.start.add(size_of::<Head>()) }.cast::<CycleSlot>();
        let count = self.bytes.saturating_sub(size_of::<Head>()).checked_div(size_of::<CycleSlot>()).unwrap_or(0);
        // SAFETY: `count` slots lie between there and the end. The size of a head is a multiple of a slot's alignment,
        // and a slot consists of atomics.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), count) }
    }
}

#[cfg(test)]
impl PageMemory {
    /// All words of the page, for tests that write arbitrary values.
    pub(crate) fn words(&self) -> &[crate::atomics::AtomicU64] {
        let count = self.bytes.checked_div(8).unwrap_or(0);
        // SAFETY: the memory has `count` words, is aligned, and consists of atomic words throughout.
        unsafe { std::slice::from_raw_parts(self.start.cast().as_ptr(), count) }
    }
}

impl Drop for PageMemory {
    fn drop(&mut self) {
        match self.origin {
            Origin::Private(layout, _) => {
                // SAFETY: allocated with this layout, and freed once.
                unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
            }
            Origin::Sealed { .. } | Origin::Foreign => {
                // SAFETY: exactly the mapping made by the constructor; no reference to it outlives `self`.
                unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
            }
        }
    }
}

/// Makes a memfd that can be sealed. It is not executable if the kernel can guarantee that (Linux 6.3; some
/// configurations refuse any other). Called by number, because C libraries before 2018 have no function for it.
fn memfd(name: &CStr) -> Result<OwnedFd, i32> {
    let create = |flags: libc::c_uint| {
        // SAFETY: the name ends with a zero byte and outlives the call.
        checked(unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) })
    };
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let fd = create(flags | NO_EXEC_SEAL).or_else(|_| create(flags))?;
    let fd = i32::try_from(fd).map_err(|_| libc::EBADF)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn map(file: &impl AsRawFd, bytes: usize, protection: i32, flags: i32) -> Result<NonNull<u8>, i32> {
    let flags = libc::MAP_SHARED | flags;
    // SAFETY: a new mapping at an address that the kernel chooses; no existing memory is affected.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(errno());
    }
    NonNull::new(start.cast()).ok_or(libc::ENOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it has no refusal to give")]
    fn memory_that_does_not_exist_is_an_error() {
        assert_eq!(PageMemory::private(usize::MAX / 4, libc::ENOSYS).err(), Some(libc::ENOMEM));
    }

    #[test]
    fn private_memory_is_zero_whole_and_says_why_it_is_private() {
        let page = PageMemory::private(page_bytes(64), libc::ENOSYS).unwrap();
        assert_eq!(page.shared(), Err(libc::ENOSYS));
        assert_eq!((page.slots().len(), page.head().live.frozen_at.load()), (64, None));
        assert!(page.slots().iter().all(|slot| slot.read().is_none()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "memfd")]
    fn nobody_else_may_change_a_sealed_page() {
        let page = PageMemory::sealed(c"punctual-rt:sealed", page_bytes(64)).unwrap();
        let Origin::Sealed { _descriptor: descriptor } = &page.origin else { panic!("not sealed") };
        let file = std::fs::File::from(descriptor.try_clone().unwrap());
        assert!(file.set_len(10).is_err(), "shrunk");
        assert!(file.set_len(10_000_000).is_err(), "grown");
        // SAFETY: no pointers are passed.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals & FUTURE_WRITE_SEAL != 0 {
            let writable = map(&file, page.bytes, libc::PROT_READ | libc::PROT_WRITE, 0);
            assert_eq!(writable.err(), Some(libc::EPERM), "mapped for writing");
        }
    }
}
