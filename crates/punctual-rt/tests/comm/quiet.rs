//! Tests that the calls for a loop allocate nothing and do not enter the kernel.

use punctual_rt::log::Drain;
use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::watchdog::{Heart, Watchdog, WatchdogConfig};
use punctual_rt::{
    Error, LatestReader, LatestWriter, LockError, Nanos, Receiver, Sender, SetupError, latest, log::LogWriter, rt_log,
    spsc,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The ends of everything that a loop may use to communicate.
struct Loop {
    queue: (Sender<u64>, Receiver<u64>),
    cell: (LatestWriter<[u64; 8]>, LatestReader<[u64; 8]>),
    signal: Signal,
    mutex: PiMutex<u64>,
    log: LogWriter,
    heart: Heart,
    _others: (Drain, Watchdog),
}

impl Loop {
    fn new() -> Self {
        let watchdog = Watchdog::start(WatchdogConfig::every(Nanos::from_ms(1_000)), Box::new(|_| {})).unwrap();
        let heart = watchdog.watch("x", Nanos::from_ms(100_000)).unwrap();
        let mut drain = Drain::new();
        let log = drain.writer("x", 16);
        let (queue, cell) = (spsc(2), latest([0; 8]));
        let (signal, mutex) = (Signal::new(), PiMutex::new(0));
        Self { queue, cell, signal, mutex, log, heart, _others: (drain, watchdog) }
    }

    fn cycle(&mut self, n: u64) {
        let _ = self.queue.0.push(n);
        let _ = self.queue.0.push(n);
        self.queue.1.pop();
        self.cell.0.write([n; 8]);
        self.cell.1.read();
        self.signal.post();
        self.signal.wait();
        self.signal.wait_until(punctual_rt::now());
        if let Ok(mut guard) = self.mutex.lock() {
            *guard = n;
        }
        let _ = self.mutex.try_lock();
        rt_log!(self.log, "{} and {}", n, -1.5);
        self.log.counter("n", n);
        self.log.span("x", |_| ());
        self.heart.beat();
    }
}

#[test]
fn nothing_is_allocated_between_two_waits() {
    let mut work = Loop::new();
    let before = CALLS.get();
    (0..100).for_each(|n| work.cycle(n));
    assert_eq!(CALLS.get() - before, 0);
    drop(Box::new(1));
    assert_eq!(CALLS.get() - before, 2, "the count counts");
}

/// From now on, every system call except `exit` has this outcome.
#[allow(clippy::cast_possible_truncation, reason = "small constants of the kernel's interface")]
fn leave_kernel(outcome: u32) -> bool {
    let step = |code: u32, jump_unless: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: jump_unless, k };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_exit as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, outcome),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program is valid for the call.
    unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0 }
}

/// Runs `body` in a child process that is killed at its first system call. Returns whether the child survived.
fn without_kernel(prepare: impl FnOnce(), body: impl FnOnce()) -> bool {
    let body = || {
        body();
        true
    };
    with_every_call(libc::SECCOMP_RET_KILL_THREAD, prepare, body)
}

/// Runs `body` in a child process in which every system call has this outcome. Returns the result of `body`, or `false`
/// if the child did not exit normally.
fn with_every_call(outcome: u32, prepare: impl FnOnce(), body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs code that neither allocates nor locks what other threads may hold, and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        prepare();
        let failed = i32::from(!(leave_kernel(outcome) && body()));
        // SAFETY: ends the only thread of the child, by the one call that is allowed.
        unsafe { libc::syscall(libc::SYS_exit, failed) };
    }
    let mut status = 0;
    // SAFETY: the child belongs to this process; the status is valid for the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

#[test]
fn the_kernel_is_not_entered_unless_to_wait_or_to_wake() {
    let mut work = std::cell::RefCell::new(Loop::new());
    // The first lock of a thread asks the kernel for its id.
    let lock_once = || drop(work.borrow().mutex.lock());
    assert!(without_kernel(lock_once, || (0..100).for_each(|n| work.borrow_mut().cycle(n))));
    assert!(!without_kernel(|| {}, || drop(work.borrow().mutex.lock())), "a call is noticed");
    let signal = &work.get_mut().signal;
    let deadline = punctual_rt::now() + Nanos::from_ms(1_000);
    assert!(!without_kernel(|| {}, || _ = signal.wait_until(deadline)));
    let quiet = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| signal.wait());
        while signal.waiting() == 0 {
            std::thread::yield_now();
        }
        // The child has a copy of the number of waiters.
        let quiet = without_kernel(|| {}, || _ = signal.post());
        signal.post();
        waiter.join().unwrap();
        quiet
    });
    assert!(!quiet, "waking enters the kernel");
}

#[test]
fn a_kernel_that_refuses_is_reported() {
    let refused = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let mutex = PiMutex::new(());
    let guard = mutex.lock().unwrap();
    // In the child another process seems to hold the lock, so the kernel has to be asked.
    let other_id = || drop(PiMutex::new(()).lock());
    let told = || mutex.lock().err() == Some(LockError::Refused(libc::ENOSYS));
    assert!(with_every_call(refused, other_id, told));
    drop(guard);
    let config = WatchdogConfig::every(Nanos::from_ms(1));
    let told = || matches!(Watchdog::start(config, Box::new(|_| {})), Err(Error::Setup(SetupError::Thread(errno))) if errno > 0);
    assert!(with_every_call(refused, || {}, told));
    let told =
        || matches!(Drain::new().start(Nanos::from_ms(1)), Err(Error::Setup(SetupError::Thread(errno))) if errno > 0);
    assert!(with_every_call(refused, || {}, told));
}
