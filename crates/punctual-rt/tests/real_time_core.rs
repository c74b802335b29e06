//! Tests tasks on a real-time core. They need root on a kernel with EVL or Cobalt, so they are ignored by default:
//! `cargo test -p punctual-rt --test real_time_core -- --ignored --test-threads=1`. One of them stops the core for a
//! moment, so no other program may use it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::{
    Backend, Control, CoreRefusal, Cyclic, Ended, Error, InBand, LockError, Margin, Nanos, Policy, SetupError,
    SwitchCause, Task, TaskConfig, Wait, kernel,
};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

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
