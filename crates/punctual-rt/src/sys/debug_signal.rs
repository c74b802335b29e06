//! The signal by which a real-time core tells a thread that it left the out-of-band stage.
//!
//! Both cores use `SIGXCPU`, which by default ends the process. The kernel uses it as well, for a limit on CPU time
//! (`RLIMIT_CPU`), so whatever is no message of a core goes to the handler that was there before.

use super::checked;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The upper half of the value that a core sends with the signal. The lower half is the cause.
const MARK: usize = 0xfccf_0000;
const MARK_BITS: usize = 0xffff_0000;

thread_local! {
    /// The cause of the last message to this thread; 0 if there was none.
    static CAUSE: Cell<u8> = const { Cell::new(0) };
}

static FORMER: OnceLock<libc::sigaction> = OnceLock::new();
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs the handler, unless it is installed, and lets the signal through to the calling thread.
pub(crate) fn hear_debug_signal() -> Result<(), i32> {
    install()?;
    // Touching the variable here allocates it where a C library allocates such variables at the first access.
    take_debug_cause();
    let mut only = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one signal set, which the call fills.
    unsafe { libc::sigemptyset(only.as_mut_ptr()) };
    // SAFETY: the set was filled above, and the number is that of a signal.
    unsafe { libc::sigaddset(only.as_mut_ptr(), libc::SIGXCPU) };
    // SAFETY: the set is valid for the call; the old one is not asked for.
    let refused = unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut()) };
    if refused == 0 { Ok(()) } else { Err(refused) }
}

/// The cause of the last message of a core to this thread, which is then forgotten.
#[inline]
pub(crate) fn take_debug_cause() -> Option<u8> {
    let cause = CAUSE.try_with(|cause| cause.replace(0)).unwrap_or(0);
    (cause != 0).then_some(cause)
}

/// Sends the calling thread the signal with this value, as a core does.
#[cfg(test)]
pub(crate) fn send_debug_signal(value: usize) {
    /// The kernel's structure of 128 bytes on 64-bit machines.
    #[repr(C)]
    struct About {
        number_error_code: [i32; 4],
        sender: [u32; 2],
        value: usize,
        rest: [u64; 12],
    }
    let (process, thread) = (std::process::id(), super::thread_id());
    let about =
        About { number_error_code: [libc::SIGXCPU, 0, libc::SI_QUEUE, 0], sender: [process, 0], value, rest: [0; 12] };
    // SAFETY: the structure is valid for the call.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, libc::SIGXCPU, &raw const about) };
    assert_eq!(checked(sent), Ok(0));
}

fn install() -> Result<(), i32> {
    let _only_one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if FORMER.get().is_some() {
        return Ok(());
    }
    let mut former = MaybeUninit::uninit();
    // SAFETY: no new action is given; the pointer is valid for one action.
    let got = unsafe { libc::sigaction(libc::SIGXCPU, std::ptr::null(), former.as_mut_ptr()) };
    checked(libc::c_long::from(got))?;
    // SAFETY: the call succeeded, so it filled the action. The handler reads it, so it is kept first.
    let former = *FORMER.get_or_init(|| unsafe { former.assume_init() });
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
    let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    let own = libc::sigaction { sa_sigaction: handler as usize, sa_flags: flags, ..former };
    // SAFETY: the action is valid for the call, and its handler does only what a handler may.
    let set = unsafe { libc::sigaction(libc::SIGXCPU, &raw const own, std::ptr::null_mut()) };
    checked(libc::c_long::from(set)).map(drop)
}

extern "C" fn on_signal(number: libc::c_int, about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure.
    let told = unsafe { &*about };
    // SAFETY: for a signal without a value, these bits are other plain numbers.
    let value = unsafe { told.si_value() }.sival_ptr.addr();
    #[allow(clippy::cast_possible_truncation, reason = "a cause is a small number")]
    if value & MARK_BITS == MARK {
        let _ = CAUSE.try_with(|cause| cause.set((value & 0xff) as u8));
        return;
    }
    let Some(former) = FORMER.get() else { return };
    match former.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: the function may be called in a handler.
            unsafe { libc::signal(number, libc::SIG_DFL) };
            // SAFETY: the function may be called in a handler. The signal takes its default effect on return.
            unsafe { libc::raise(number) };
        }
        handler if former.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the address is that of such a function.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(number, about, context);
        }
        handler => {
            // SAFETY: without the flag, the address is that of such a function.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
            handler(number);
        }
    }
}
