//! System calls that set the policy of threads, and that start and end processes.

use rustix::process::{Pid, Signal, WaitOptions, getppid, set_parent_process_death_signal, waitpid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Gives the calling thread ordinary policy (`SCHED_OTHER`). Threads and processes that it starts later inherit it.
pub fn become_ordinary() -> io::Result<()> {
    let priority: libc::c_int = 0; // `struct sched_param` is this one number
    // SAFETY: the kernel reads one int behind the pointer, which lives until the call returns. The system call is made
    // directly, because the wrapper of one C library refuses to make it.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const priority) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The ids of this process and of the calling thread.
pub(super) fn ids() -> [u64; 2] {
    let number = |pid: Pid| u64::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
    [number(rustix::process::getpid()), number(rustix::thread::gettid())]
}

/// Sends the calling thread a signal.
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
pub(super) fn raise(signal: i32) {
    let [process, thread] = ids();
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Creates a process that ends at once, and waits for its end.
pub fn fork_and_wait() -> io::Result<()> {
    // SAFETY: the child calls only `_exit`, which is safe after a fork in a program with several threads.
    let child = match unsafe { libc::fork() } {
        0 => {
            // SAFETY: ends the child without running any code of the parent.
            unsafe { libc::_exit(0) }
        }
        child => Pid::from_raw(child).filter(|_| child > 0).ok_or_else(io::Error::last_os_error)?,
    };
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Closes every inherited file except the three standard ones. To be called before the process opens files.
pub fn close_inherited() {
    const FIRST: libc::c_int = 3;
    // SAFETY: this process has not opened files yet, so no owner loses one.
    if unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // Kernels before 5.9 have no `close_range`.
    for file in FIRST..1024 {
        // SAFETY: this process has not opened files yet; a number that is not an open file is refused.
        unsafe { libc::close(file) };
    }
}

/// Makes the kernel kill the program that `command` starts when the calling thread ends.
pub fn tie_to_this_thread(command: &mut Command) {
    let parent = rustix::process::getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the signal was set up.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::SRCH)) }
    };
    // SAFETY: between fork and exec, `tie` makes two system calls; it neither allocates nor locks.
    unsafe { command.pre_exec(tie) };
}
