//! Tells from user space, with one load, whether the kernel ran another thread on this CPU.
//!
//! With a current glibc, every thread has an area for *restartable sequences*. Its field `rseq_cs` may point to a
//! descriptor of a section of code. If the kernel preempts the thread outside of that section, or delivers a signal to
//! it there, it clears the field. Here the descriptor names an empty section: nothing is ever restarted, a context
//! switch clears the field, and a plain interrupt leaves it unchanged.
//!
//! This is sound for the following reasons:
//! - The descriptor is valid (the signature that glibc registers stands before its abort address), and is constant data
//! of this library. The kernel sends `SIGSEGV` for a descriptor that is invalid or cannot be read. So a library with
//! this code must not be unloaded while a thread is armed.
//! - The field is set only between [`Poison::arm`] and [`Poison::disarm`], around a polling loop that calls no other
//! code. Other users of the field (tcmalloc, librseq) set it at the start of each of their own sections, and may leave
//! it set. A section of theirs in a signal handler makes the mark read as cleared, as the signal itself does.
//! - Without glibc's area there is no [`Poison`]: musl, glibc before 2.35, Linux before 4.18, `glibc.pthread.rseq=0`.
//!
//! Before 6.19, Linux also clears the field after other work in the kernel.

use crate::release::version;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};

/// The kernel's `struct rseq_cs`.
#[repr(C, align(32))]
struct Descriptor {
    version: u32,
    flags: u32,
    start: *const u32,
    length: u64,
    abort: *const u32,
}

// SAFETY: constant data, never written.
unsafe impl Sync for Descriptor {}

/// The signature that glibc registers with the kernel, an instruction that no program executes.
#[cfg(target_arch = "x86_64")]
const SIGNATURE: Option<u32> = Some(0x5305_3053);
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
const SIGNATURE: Option<u32> = Some(0xd428_bc00);
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
const SIGNATURE: Option<u32> = None;

/// The abort address is that of the second word, so that the signature stands before it. It may point to data, because
/// in an empty section nothing is aborted.
static SIGNED: [u32; 2] = [
    match SIGNATURE {
        Some(word) => word,
        None => 0,
    },
    0,
];
const ABORT: *const u32 = &raw const SIGNED[1];
static NO_CODE: Descriptor = Descriptor { version: 0, flags: 0, start: ABORT, length: 0, abort: ABORT };

/// Offsets of fields within the area, and the smallest size of an area with these fields.
const CPU_ID: usize = 4;
const RSEQ_CS: usize = 8;
const SIZE_MIN: u32 = 20;

/// The mark in the calling thread's area, which the kernel removes when it runs another thread.
///
/// Belongs to the thread that made it. Dropping it removes the mark.
#[derive(Debug)]
pub(crate) struct Poison {
    mark: &'static AtomicU64,
    of_this_thread: PhantomData<*const ()>,
}

impl Poison {
    /// The mark of the calling thread, if its C library has registered an area that this code can use.
    ///
    /// # Real-time
    /// Looks up symbols: call before the loop.
    ///
    /// # Kernel
    /// Linux 4.18 and later; glibc 2.35 and later.
    pub(crate) fn of_current_thread() -> Option<Self> {
        SIGNATURE?;
        // SAFETY: glibc documents the symbol as an unsigned int that is constant once the program runs.
        let size = unsafe { symbol::<u32>(c"__rseq_size")?.read() };
        // SAFETY: glibc documents the symbol as a ptrdiff_t that is constant once the program runs.
        let offset = unsafe { symbol::<isize>(c"__rseq_offset")?.read() };
        if size < SIZE_MIN {
            return None;
        }
        let area = thread_pointer().wrapping_offset(offset);
        // SAFETY: a size above zero means that the area exists in the storage of the thread, aligned to 32.
        let cpu = unsafe { AtomicI32::from_ptr(area.wrapping_add(CPU_ID).cast_mut().cast()) };
        if cpu.load(Relaxed) < 0 {
            return None;
        }
        // SAFETY: the area exists, as for the line above. It lives as long as the thread, and the value cannot leave
        // the thread.
        let mark = unsafe { AtomicU64::from_ptr(area.wrapping_add(RSEQ_CS).cast_mut().cast()) };
        Some(Self { mark, of_this_thread: PhantomData })
    }

    /// Sets the mark.
    ///
    /// # Real-time
    /// One store.
    #[inline]
    pub(crate) fn arm(&self) {
        self.mark.store(ours(), Relaxed);
        compiler_fence(SeqCst);
    }

    /// Whether the mark is still there. Then the kernel has run no other thread here, and delivered no signal, since
    /// [`arm`](Self::arm).
    ///
    /// # Real-time
    /// One load.
    #[inline]
    pub(crate) fn still_set(&self) -> bool {
        compiler_fence(SeqCst);
        self.mark.load(Relaxed) == ours()
    }

    /// Removes the mark if it is there.
    ///
    /// # Real-time
    /// One load, one store.
    #[inline]
    pub(crate) fn disarm(&self) {
        if self.still_set() {
            self.mark.store(0, Relaxed);
        }
    }
}

impl Drop for Poison {
    fn drop(&mut self) {
        self.disarm();
    }
}

/// The value of the mark: the address of the descriptor.
#[inline]
fn ours() -> u64 {
    (&raw const NO_CODE).addr() as u64
}

/// The address of the C library's variable with this name, if it has one.
fn symbol<T>(name: &CStr) -> Option<*const T> {
    // SAFETY: the name ends in a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address.cast_const().cast())
}

/// Address of the thread's own storage, as the ABI defines it; null on architectures without a known signature.
fn thread_pointer() -> *const u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: *const u8;
        // SAFETY: by the ABI, the thread pointer points to its own value.
        unsafe { core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
        pointer
    }
    #[cfg(target_arch = "aarch64")]
    {
        let pointer: *const u8;
        // SAFETY: every program may read its thread pointer.
        unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
        pointer
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    core::ptr::null()
}

/// Whether the running kernel clears the mark only for another thread or a signal.
///
/// # Real-time
/// Enters the kernel: call before the loop.
pub(crate) fn kernel_clears_for_switches_only() -> bool {
    let mut names = MaybeUninit::<libc::utsname>::uninit();
    // SAFETY: the pointer is valid for one utsname.
    if unsafe { libc::uname(names.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call succeeded, so it filled the structure.
    let names = unsafe { names.assume_init() };
    // SAFETY: the kernel ends the text with a zero byte within the array.
    let release = unsafe { CStr::from_ptr(names.release.as_ptr()) };
    release.to_str().is_ok_and(clears_for_switches_only)
}

/// Since Linux 6.19, only threads that were switched away from lose the mark. Text that is not a version counts as
/// older.
fn clears_for_switches_only(release: &str) -> bool {
    version(release).is_some_and(|version| version >= (6, 19))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    #[test]
    fn the_descriptor_is_as_the_kernel_wants_it() {
        assert_eq!((size_of::<Descriptor>(), align_of::<Descriptor>()), (32, 32));
        assert_eq!((NO_CODE.version, NO_CODE.flags, NO_CODE.length), (0, 0, 0));
        assert_eq!(NO_CODE.abort.wrapping_sub(1), SIGNED.as_ptr());
        assert_eq!(SIGNATURE, Some(SIGNED[0]), "tests run where the signature is known");
    }

    #[test]
    fn kernels_are_told_apart_by_version() {
        let told =
            ["6.19", "6.19.0-rc1", "7.3.4+deb13-amd64", "6.18.44-fc-v669", "5.19", ""].map(clears_for_switches_only);
        assert_eq!(told, [true, true, true, false, false, false]);
    }

    #[test]
    fn armed_and_disarmed() {
        let Some(poison) = Poison::of_current_thread() else { return };
        assert!(!poison.still_set());
        let kept = (0..1000).any(|_| {
            poison.arm();
            poison.still_set()
        });
        assert!(kept, "set a thousand times, and cleared each time at once");
        poison.disarm();
        assert!(!poison.still_set());
        poison.arm();
        drop(poison);
        assert!(!Poison::of_current_thread().unwrap().still_set());
    }

    /// Two threads share one CPU, so the kernel must preempt. If it found the descriptor invalid, it would end the
    /// process.
    #[test]
    fn a_preempted_thread_finds_the_mark_gone() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let Some(cpu) = sys::affinity().ok().and_then(|cpus| cpus.first().copied()) else { return };
        let rival = std::thread::spawn(move || {
            sys::set_affinity(&[cpu]).unwrap();
            while !STOP.load(Relaxed) {
                core::hint::spin_loop();
            }
        });
        let cleared = std::thread::spawn(move || {
            sys::set_affinity(&[cpu]).unwrap();
            let poison = Poison::of_current_thread()?;
            poison.arm();
            let begun = Instant::now();
            while poison.still_set() && begun.elapsed() < Duration::from_secs(20) {}
            Some(!poison.still_set())
        })
        .join();
        STOP.store(true, Relaxed);
        rival.join().unwrap();
        assert_ne!(cleared.unwrap(), Some(false));
    }
}
