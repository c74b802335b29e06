//! Tests tasks on a real-time core. They need root on a kernel with EVL or Cobalt, so they are ignored by default:
//! `cargo test -p punctual-rt --test real_time_core -- --ignored --test-threads=1`. One of them stops the core for a
//! moment, so no other program may use it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_rt::sync::{PiMutex, Semaphore, Signal};
use punctual_rt::{
    Backend, Control, CoreRefusal, CoreThread, Cyclic, Ended, Error, InBand, LockError, Margin, Nanos, Policy,
    SetupError, SwitchCause, Task, TaskConfig, Wait, kernel, now, setup,
};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Environment variable that marks a process which a test has started as another user.
const AGAIN: &str = "PUNCTUAL_RT_TEST_AGAIN";
const STATE: &str = "/sys/devices/virtual/evl/control/state";

/// The tests take turns, because one of them stops the core.
static TURN: Mutex<()> = Mutex::new(());

/// The core of the running kernel.
fn core() -> Backend {
    if Path::new("/dev/evl/control").exists() { Backend::Evl } else { Backend::Cobalt }
}

fn config(wait: Wait) -> TaskConfig {
    TaskConfig::periodic(Nanos::from_ms(1)).named("core").policy(Policy::Fifo(80)).wait(wait)
}

/// Runs `cycles` activations, each with its number, and returns the outcome and the counted switches.
fn outcome(config: &TaskConfig, cycles: u64, mut body: impl FnMut(u64) + Send + 'static) -> (Ended, u64, u64) {
    let mut cycle = 0;
    let task = Task::spawn(config, move |_| {
        body(cycle);
        cycle += 1;
        if cycle == cycles { Control::Stop } else { Control::Continue }
    });
    let task = task.unwrap();
    assert_eq!(task.backend(), core());
    let stats = task.stats().clone();
    let ended = task.join();
    let snapshot = stats.snapshot();
    assert_eq!(snapshot.backend, core());
    (ended, snapshot.counters.activations, snapshot.in_band_switches)
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn each_wait_stays_out_of_band() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for wait in [Wait::Sleep, Wait::Anticipate, Wait::Hybrid(Margin::AUTO)] {
        let told = format!("{wait:?}");
        assert_eq!(outcome(&config(wait), 300, |_| ()), (Ended::Stopped, 300, 0), "{told}");
    }
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn each_system_call_of_the_body_is_counted_the_last_one_too() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let call = |cycle: u64| {
        if cycle % 100 == 99 {
            kernel::thread_usage();
        }
    };
    assert_eq!(outcome(&config(Wait::Sleep), 500, call), (Ended::Stopped, 500, 5));
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn where_it_is_forbidden_a_system_call_ends_the_loop() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for wait in [Wait::Sleep, Wait::Hybrid(Margin::AUTO)] {
        let strict = config(wait).in_band(InBand::Strict);
        assert_eq!(outcome(&strict, 200, |_| ()), (Ended::Stopped, 200, 0));
        let call = |cycle: u64| {
            if cycle == 49 {
                kernel::thread_usage();
            }
        };
        assert_eq!(outcome(&strict, 200, call), (Ended::InBand(SwitchCause::SystemCall), 50, 1));
    }
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_lock_that_is_held_is_refused_and_takes_nobody_in_band() {
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mutex, held, release) = (Arc::new(PiMutex::new(0)), Arc::new(Signal::new()), Arc::new(Signal::new()));
    let owner = {
        let (mutex, held, release) = (Arc::clone(&mutex), Arc::clone(&held), Arc::clone(&release));
        std::thread::spawn(move || {
            let guard = mutex.lock();
            held.post();
            release.wait();
            drop(guard);
        })
    };
    held.wait();
    let take = move |_| {
        if mutex.lock().err() == Some(LockError::OutOfBand) {
            REFUSED.fetch_add(1, Relaxed);
        }
    };
    assert_eq!(outcome(&config(Wait::Sleep), 100, take), (Ended::Stopped, 100, 0));
    release.post();
    owner.join().unwrap();
    assert_eq!(REFUSED.load(Relaxed), 100);
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_thread_is_attached_and_released_as_often_as_one_likes_and_keeps_its_name() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = std::thread::Builder::new().name("own-name".to_owned()).spawn(|| {
        for _ in 0..3 {
            let mut cyclic = Cyclic::new(&config(Wait::Sleep)).unwrap();
            assert_eq!(cyclic.backend(), core());
            for _ in 0..20 {
                assert!(cyclic.wait().is_some());
                cyclic.finish();
            }
            drop(cyclic);
            let comm = std::fs::read_to_string(format!("/proc/self/task/{}/comm", kernel::thread_id())).unwrap();
            assert_eq!(comm, "own-name\n");
        }
    });
    thread.unwrap().join().unwrap();
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn tasks_of_one_process_share_the_core() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let loops = [(1, 81), (2, 80)].map(|(ms, priority)| {
        let config = TaskConfig::periodic(Nanos::from_ms(ms)).policy(Policy::Fifo(priority)).backend(core());
        std::thread::spawn(move || outcome(&config, 100, |_| ()))
    });
    for told in loops {
        assert_eq!(told.join().unwrap(), (Ended::Stopped, 100, 0));
    }
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn linux_is_to_be_had_as_well() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let task = Task::spawn(&config(Wait::Sleep).backend(Backend::Linux), |_| Control::Stop).unwrap();
    assert_eq!((task.backend(), task.join()), (Backend::Linux, Ended::Stopped));
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn somebody_who_may_not_use_the_core_is_told_so() {
    let name = "somebody_who_may_not_use_the_core_is_told_so";
    if std::env::var_os(AGAIN).is_none() {
        let program = std::env::current_exe().unwrap();
        let mut again = Command::new(program);
        let output =
            again.args(["--exact", name, "--ignored"]).env(AGAIN, "1").uid(65_534).gid(65_534).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let refused = Task::spawn(&config(Wait::Sleep).backend(core()), |_| Control::Stop).err();
    let told = |errno| {
        Some(Error::Setup(match core() {
            Backend::Cobalt => SetupError::Cobalt(CoreRefusal::NotAllowed(errno)),
            Backend::Linux | Backend::Evl => SetupError::Evl(CoreRefusal::NotAllowed(errno)),
        }))
    };
    assert!(refused == told(libc::EACCES) || refused == told(libc::EPERM), "{refused:?}");
}

#[test]
#[ignore = "needs root on a kernel with EVL"]
fn a_core_that_is_stopped_is_refused() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if core() == Backend::Evl {
        std::fs::write(STATE, "stop").unwrap();
        let refused = Task::spawn(&config(Wait::Sleep), |_| Control::Stop).err();
        std::fs::write(STATE, "start").unwrap();
        assert_eq!(refused, Some(Error::Setup(SetupError::Evl(CoreRefusal::Stopped))));
        assert_eq!(outcome(&config(Wait::Sleep), 10, |_| ()), (Ended::Stopped, 10, 0));
    }
}

/// Runs `work` as a thread of the core on the first CPU, and returns its result and how often it was taken in-band.
fn on_core<T: Send>(priority: u8, work: impl FnOnce() -> T + Send) -> (T, u64) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            setup::pin_current(&[0]).unwrap();
            let mut thread = CoreThread::attach(core(), priority).unwrap();
            thread.switches();
            (work(), thread.switches())
        });
        thread.join().unwrap()
    })
}

fn semaphore() -> Semaphore {
    let semaphore = Semaphore::on(None, 0).unwrap();
    assert_eq!(semaphore.backend(), core());
    semaphore
}

fn spin(length: Nanos) {
    let begin = now();
    while now().since(begin) < length {
        std::hint::spin_loop();
    }
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_lock_of_the_core_that_is_free_takes_nobody_in_band() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mutex = PiMutex::on(Some(core()), 0).unwrap();
    let take = move |_| {
        for _ in 0..10 {
            *mutex.lock().unwrap() += 1;
            *mutex.try_lock().unwrap() += 1;
        }
    };
    assert_eq!(outcome(&config(Wait::Sleep).in_band(InBand::Strict), 100, take), (Ended::Stopped, 100, 0));
}

/// The owner has the lowest priority, and holds the lock for some milliseconds of work. The thread of the highest priority
/// wants it, and one in between wants the CPU for longer than all that.
#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn the_owner_of_a_lock_inherits_the_priority_of_the_waiter() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (work, disturbance) = (Nanos::from_ms(5), Nanos::from_ms(50));
    let mutex = PiMutex::on(None, ()).unwrap();
    let (high_begins, middle_begins) = (semaphore(), semaphore());
    let (taken, middle_began) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let high = scope.spawn(|| {
            on_core(80, || {
                high_begins.wait().unwrap();
                let asked = now();
                let held = mutex.lock_until(asked + Nanos::from_secs(10)).unwrap();
                taken.store(now().as_ns(), Relaxed);
                drop(held);
                now().since(asked)
            })
        });
        let middle = scope.spawn(|| {
            on_core(50, || {
                middle_begins.wait().unwrap();
                middle_began.store(now().as_ns(), Relaxed);
                spin(disturbance);
            })
        });
        let low = scope.spawn(|| {
            on_core(20, || {
                let held = mutex.lock().unwrap();
                high_begins.post().unwrap();
                middle_begins.post().unwrap();
                spin(work);
                drop(held);
            })
        });
        let (low, middle, (waited, high)) = (low.join().unwrap(), middle.join().unwrap(), high.join().unwrap());
        assert!(taken.load(Relaxed) < middle_began.load(Relaxed), "the thread in between came first");
        assert!(waited < disturbance, "{waited}");
        assert_eq!([low.1, middle.1, high], [0, 0, 0], "nobody was taken in-band");
        println!("waited {waited} for a lock that was held for {work}");
    });
}

/// The thread of the highest priority waits for a lock whose owner waits for the lock of the lowest, which has been in-band
/// before.
#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_chain_of_owners_inherits_the_priority_of_the_waiter() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, second) = (PiMutex::on(None, ()).unwrap(), PiMutex::on(None, ()).unwrap());
    let (link_begins, high_begins, middle_begins) = (semaphore(), semaphore(), semaphore());
    let (taken, middle_began) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let high = scope.spawn(|| {
            on_core(80, || {
                high_begins.wait().unwrap();
                let held = second.lock_until(now() + Nanos::from_secs(10)).unwrap();
                taken.store(now().as_ns(), Relaxed);
                drop(held);
            })
        });
        let middle = scope.spawn(|| {
            on_core(50, || {
                middle_begins.wait().unwrap();
                middle_began.store(now().as_ns(), Relaxed);
            })
        });
        let link = scope.spawn(|| {
            on_core(30, || {
                link_begins.wait().unwrap();
                let own = second.lock().unwrap();
                let before = first.lock_until(now() + Nanos::from_secs(10)).unwrap();
                drop(before);
                drop(own);
            })
        });
        // All of them wait out-of-band by then.
        std::thread::sleep(Duration::from_millis(100));
        let ((), _) = on_core(20, || {
            kernel::thread_usage();
            let held = first.lock().unwrap();
            for begins in [&link_begins, &high_begins, &middle_begins] {
                begins.post().unwrap();
            }
            drop(held);
        });
        let switches = [high, middle, link].map(|thread| thread.join().unwrap().1);
        assert!(taken.load(Relaxed) < middle_began.load(Relaxed), "the thread in between came first");
        assert_eq!(switches, [0, 0, 0], "nobody was taken in-band");
    });
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_thread_of_linux_and_a_loop_of_the_core_count_for_each_other() {
    const ROUNDS: u64 = 200;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (to_core, to_linux) = (semaphore(), semaphore());
    std::thread::scope(|scope| {
        let loop_of_core = scope.spawn(|| {
            on_core(70, || {
                for _ in 0..ROUNDS {
                    to_core.wait().unwrap();
                    to_linux.post().unwrap();
                }
            })
        });
        // Such a thread may post, but not wait, until it belongs to the core. With priority 0 it remains one of Linux.
        assert_eq!(to_linux.wait_until(now()), Err(LockError::NotOfCore));
        let this = CoreThread::attach(core(), 0).unwrap();
        for _ in 0..ROUNDS {
            kernel::thread_usage();
            to_core.post().unwrap();
            assert_eq!(to_linux.wait_until(now() + Nanos::from_secs(10)), Ok(true));
        }
        drop(this);
        assert_eq!(loop_of_core.join().unwrap(), ((), 0));
    });
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn deadlines_are_kept_and_what_cannot_be_had_is_an_error() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mutex = PiMutex::on(None, ()).unwrap();
    assert_eq!(mutex.lock().err(), Some(LockError::NotOfCore));
    assert!(mutex.try_lock().is_none());
    let (held, release) = (semaphore(), semaphore());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            on_core(20, || {
                let guard = mutex.lock().unwrap();
                assert_eq!(mutex.lock().err(), Some(LockError::WouldDeadlock));
                held.post().unwrap();
                release.wait().unwrap();
                drop(guard);
            })
        });
        let ((), switches) = on_core(60, || {
            held.wait().unwrap();
            let deadline = now() + Nanos::from_ms(5);
            assert_eq!(mutex.lock_until(deadline).err(), Some(LockError::TimedOut));
            assert!(now() >= deadline);
            let deadline = now() + Nanos::from_ms(5);
            assert_eq!(held.wait_until(deadline), Ok(false));
            assert!(now() >= deadline);
            assert!(mutex.try_lock().is_none());
            release.post().unwrap();
            assert!(mutex.lock_until(now() + Nanos::from_secs(10)).is_ok());
        });
        assert_eq!(switches, 0);
    });
}

#[test]
#[ignore = "needs root on a kernel with EVL or Cobalt"]
fn a_lock_whose_owner_ended_is_an_error_and_no_endless_wait() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mutex = PiMutex::on(None, ()).unwrap();
    on_core(20, || std::mem::forget(mutex.lock().unwrap()));
    let (error, _) = on_core(30, || mutex.lock_until(now() + Nanos::from_ms(100)).err());
    assert_eq!(error, Some(LockError::OwnerDied));
}

/// The kernel's `CONFIG_EVL_NR_THREADS` is 256 unless it was built with another number. Cobalt takes threads as long as it
/// has memory.
#[test]
#[ignore = "needs root on a kernel with EVL"]
fn a_core_that_is_full_says_so_and_takes_threads_again_later() {
    const MORE_THAN_IT_TAKES: usize = 300;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if core() != Backend::Evl {
        return;
    }
    let over = Signal::new();
    let refused = std::thread::scope(|scope| {
        let mut refused = Vec::new();
        for number in 0..MORE_THAN_IT_TAKES {
            let (tell, told) = std::sync::mpsc::channel();
            let over = &over;
            let attach = move || {
                let thread = CoreThread::attach(Backend::Evl, 0);
                tell.send(thread.as_ref().err().copied()).unwrap();
                over.wait();
            };
            std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, attach).unwrap();
            refused.extend(told.recv().unwrap().map(|error| (number, error)));
        }
        for _ in 0..MORE_THAN_IT_TAKES {
            over.post();
        }
        refused
    });
    println!("the first refusal is that of thread {:?}", refused.first());
    let full = Error::Setup(SetupError::Evl(CoreRefusal::Full(libc::EAGAIN)));
    assert!(!refused.is_empty() && refused.iter().all(|(_, error)| *error == full), "{refused:?}");
    assert_eq!(outcome(&config(Wait::Sleep), 10, |_| ()), (Ended::Stopped, 10, 0));
}

/// The core ends the thread of the loop in the kernel. Writing the word returns when the process has ended, so the loop is in
/// another one.
#[test]
#[ignore = "needs root on a kernel with EVL"]
fn a_loop_on_a_thread_of_its_own_is_told_when_the_core_is_stopped() {
    const TOLD: i32 = 7;
    let name = "a_loop_on_a_thread_of_its_own_is_told_when_the_core_is_stopped";
    if core() != Backend::Evl {
        return;
    }
    if std::env::var_os(AGAIN).is_some() {
        let mut cyclic = Cyclic::new(&config(Wait::Sleep)).unwrap();
        let told = |ended| std::process::exit(if ended == (Ended::CoreLost { errno: libc::ENXIO }) { TOLD } else { 1 });
        cyclic.on_core_lost(told).unwrap();
        println!("paced by the core");
        while cyclic.wait().is_some() {}
        std::process::exit(2);
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--ignored", "--nocapture"]).env(AGAIN, "1").stdout(Stdio::piped());
    let mut child = again.spawn().unwrap();
    // The pipe stays open, because the harness writes to it as well.
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.by_ref().lines().any(|line| line.unwrap().contains("paced by the core")));
    std::fs::write(STATE, "stop").unwrap();
    let status = child.wait().unwrap();
    std::fs::write(STATE, "start").unwrap();
    drop(output);
    assert_eq!(status.code(), Some(TOLD), "{status}");
}
