//! The unsafe parts of the tests: a counting allocator, a filter for system calls, and the violations that they must
//! catch.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static REPORT: Cell<Option<&'static Report>> = const { Cell::new(None) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

/// Number of calls to the allocator by the calling thread, to allocate or to free.
pub fn allocations_of_this_thread() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: all calls are passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Maps a page, writes to it and removes it.
pub fn touch_fresh_page() {
    const PAGE: usize = 4096;
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), PAGE, protection, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: the first byte of the mapping made above.
    unsafe { page.cast::<u8>().write_volatile(1) };
    // SAFETY: exactly the mapping made above, to which there is no reference.
    unsafe { libc::munmap(page, PAGE) };
}

/// Enters the kernel, as a violation that must be caught.
pub fn get_process_id() {
    // SAFETY: no pointers are passed.
    unsafe { libc::syscall(libc::SYS_getpid) };
}

/// Never returns, and makes only the system call to sleep.
pub fn sleep_for_ever() -> ! {
    let long = libc::timespec { tv_sec: 3_600, tv_nsec: 0 };
    loop {
        // SAFETY: the request is valid for the call; no remainder is asked for.
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const long, std::ptr::null_mut()) };
    }
}

/// The wait, the calls that follow it after a signal, and reading the clock on machines where it is not in the vDSO.
pub const ALWAYS_ALLOWED: [libc::c_long; 4] =
    [libc::SYS_clock_nanosleep, libc::SYS_restart_syscall, libc::SYS_rt_sigreturn, libc::SYS_clock_gettime];

/// The outcome of a loop under the filter.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// The loop made this number of turns.
    Through(u64),
    /// The filter caught this system call.
    Caught(libc::c_long),
    /// The thread ended without a report.
    Lost,
}

/// The report of a filtered thread.
pub struct Report(AtomicI64);

const SILENT: i64 = i64::MIN;

impl Report {
    /// A report that outlives the thread, which never ends.
    pub fn leaked() -> &'static Self {
        Box::leak(Box::new(Self(AtomicI64::new(SILENT))))
    }

    /// Reports that the thread made `turns` turns.
    pub fn through(&self, turns: u64) {
        // Reports of turns are negative, because numbers of system calls are positive.
        let _ = self.0.compare_exchange(SILENT, -1 - i64::try_from(turns).unwrap(), Relaxed, Relaxed);
    }

    /// The outcome; `None` while the thread is running.
    pub fn said(&self) -> Option<Came> {
        match self.0.load(Relaxed) {
            SILENT => None,
            turns @ ..0 => Some(Came::Through(turns.unsigned_abs() - 1)),
            number => Some(Came::Caught(number)),
        }
    }

    /// From now on, a system call of the calling thread that is not in `allowed` is stored in the report, and the
    /// thread sleeps for ever.
    pub fn filter_this_thread(&'static self, allowed: &[libc::c_long]) {
        REPORT.set(Some(self));
        receive_traps();
        let mut program = filter(allowed);
        let length = program.len().try_into().unwrap();
        let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
        // SAFETY: no pointers are passed.
        let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        assert_eq!(bound, 0);
        // SAFETY: the program is valid for the call, which copies it.
        let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

/// Installs the handler for the signal that the kernel sends for a forbidden call, and unblocks the signal.
fn receive_traps() {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = trapped as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: action is valid for the call, and its function has the signature that SA_SIGINFO requires.
    let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut traps: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for the call.
    unsafe { libc::sigaddset(&raw mut traps, libc::SIGSYS) };
    // SAFETY: the set is valid for the call; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const traps, std::ptr::null_mut()) };
}

/// Stores the number of the call. Never returns, because the caller would not expect the call to fail.
extern "C" fn trapped(_: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    /// `siginfo_t` as the kernel fills it for this signal.
    #[repr(C)]
    struct Trap {
        signal: [libc::c_int; 4],
        address: usize,
        number: libc::c_int,
    }
    // SAFETY: the kernel passes a siginfo_t, which for SIGSYS has this layout on 64-bit machines.
    let number = unsafe { (*info.cast::<Trap>()).number };
    if let Some(report) = REPORT.get() {
        report.0.store(number.into(), Relaxed);
    }
    sleep_for_ever();
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xC000_00B7;

/// The filter program: checks the architecture, then compares with each allowed call; everything else traps.
fn filter(allowed: &[libc::c_long]) -> Vec<libc::sock_filter> {
    let statement = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let load = |offset| statement(0x20, offset, 0, 0);
    let if_equal_skip = |k, by| statement(0x15, k, by, 0);
    let unless_equal_skip = |k, by| statement(0x15, k, 0, by);
    let answer = |k| statement(0x06, k, 0, 0);
    let (number_at, machine_at) = (0, 4);
    let mut program =
        vec![load(machine_at), if_equal_skip(MACHINE, 1), answer(libc::SECCOMP_RET_TRAP), load(number_at)];
    for number in allowed {
        let number = u32::try_from(*number).unwrap();
        program.extend([unless_equal_skip(number, 1), answer(libc::SECCOMP_RET_ALLOW)]);
    }
    program.push(answer(libc::SECCOMP_RET_TRAP));
    program
}

const CHILD: &str = "PUNCTUAL_PROOF_IN_CHILD";

/// Whether this process was started by [`in_child`].
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

const NOBODY: u32 = 65_534;

/// Whether this process has root privileges.
pub fn is_root() -> bool {
    // SAFETY: no pointers are passed.
    unsafe { libc::geteuid() == 0 }
}

/// Gives up every privilege of this process.
pub fn become_nobody() {
    // SAFETY: no group is passed, so no pointer is followed.
    let left = unsafe { libc::setgroups(0, std::ptr::null()) };
    // SAFETY: no pointers are passed.
    let grouped = unsafe { libc::setresgid(NOBODY, NOBODY, NOBODY) };
    // SAFETY: no pointers are passed.
    let became = unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
    assert_eq!((left, grouped, became), (0, 0, 0));
}

/// Gives up the limits for real-time priorities and locked memory, whatever this machine grants to its users.
pub fn give_up_limits() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    for limit in [libc::RLIMIT_RTPRIO, libc::RLIMIT_MEMLOCK] {
        // SAFETY: the limit is valid for the call.
        let set = unsafe { libc::setrlimit(limit, &raw const none) };
        assert_eq!(set, 0);
    }
}

/// The output of a test of this program that ran in a process of its own.
pub struct Child(Output);

/// Runs one test in a process of its own.
pub fn in_child(test: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    let words = [test, "--exact", "--nocapture", "--test-threads=1"];
    Child(Command::new(program).args(words).env(CHILD, "1").output().unwrap())
}

impl Child {
    /// Asserts that the test ran and passed.
    pub fn succeeded(&self) {
        let (said, complained) = (String::from_utf8_lossy(&self.0.stdout), String::from_utf8_lossy(&self.0.stderr));
        assert!(self.0.status.success() && said.contains("1 passed"), "{}: {said}{complained}", self.0.status);
    }
}
