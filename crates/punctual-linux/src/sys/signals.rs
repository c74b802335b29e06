//! A signal whose handler uses all floating-point and vector registers, so that the kernel has to keep those of the
//! interrupted code. It also checks its own registers.

use super::registers::{Act, Image, Writer, hold};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A real-time signal that no C library keeps for itself, and that this program uses for nothing else.
pub const SIGNAL: i32 = 41;
/// How long the handler keeps its registers filled: a few microseconds.
const POLLS: u32 = 50;

/// What the handler writes into the registers.
static PATTERN: OnceLock<Box<Image>> = OnceLock::new();
static HANDLED: AtomicU64 = AtomicU64::new(0);
static SPOILT: AtomicU64 = AtomicU64::new(0);

/// Number of signals handled by all threads so far, and of those whose handler found its registers changed.
pub fn counts() -> (u64, u64) {
    (HANDLED.load(Relaxed), SPOILT.load(Relaxed))
}

/// Installs the handler for the rest of the process.
pub fn install() -> io::Result<()> {
    PATTERN.get_or_init(|| {
        let mut image = Image::new();
        image.fill(Writer { cpu: 0xfff, thread: 0xffe }, 0x00ff_ffff);
        image
    });
    // SAFETY: a structure of numbers and pointers, which may all be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as extern "C" fn(i32) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the structure outlives the call, and the handler only calls what may be called in a handler.
    let done = unsafe { libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Allocates nothing, takes no lock and keeps the CPU: the pattern was made before the handler was installed, and a thread
/// that gave the CPU away for each signal would do nothing else on a busy machine.
extern "C" fn handle(_: i32) {
    let Some(pattern) = PATTERN.get() else { return };
    let mut found = Image::zeroed();
    let never = AtomicU32::new(0);
    let act = Act::Spin(&never, POLLS);
    hold(pattern, &mut found, act);
    HANDLED.fetch_add(1, Relaxed);
    if !pattern.is_as(&found, &act) {
        SPOILT.fetch_add(1, Relaxed);
    }
}

/// Lets the calling thread receive a signal, or blocks it.
pub fn set_blocked(signal: i32, blocked: bool) -> io::Result<()> {
    let set = bit(signal);
    let how = if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    let none = std::ptr::null::<u64>();
    // SAFETY: the kernel reads the 8 bytes of the set, which outlives the call.
    let done = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const set, none, size_of::<u64>()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's set of this signal alone.
pub(super) fn bit(signal: i32) -> u64 {
    u32::try_from(signal - 1).ok().and_then(|bit| 1_u64.checked_shl(bit)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_uses_every_register_changes_none_of_the_thread() {
        install().unwrap();
        let before = counts();
        let (mut image, mut found) = (Image::new(), Image::new());
        for round in 0..100 {
            image.fill(Writer { cpu: 1, thread: 1 }, round);
            let act = Act::Signal(SIGNAL);
            hold(&image, &mut found, act);
            assert!(image.differences(&found, &act).is_empty(), "{:?}", image.differences(&found, &act));
        }
        let (handled, spoilt) = counts();
        assert!(handled >= before.0 + 100);
        assert_eq!(spoilt, before.1);
    }
}
