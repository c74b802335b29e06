//! Set-ups on separate threads, and the state that they leave behind.

use super::*;
use crate::{ConfigError, Nanos, SetupError};

/// Runs a function in a thread of its own, whose settings end with it.
fn in_a_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap()
}

#[test]
fn what_is_set_is_read_back() {
    in_a_thread(|| {
        let first = granted().unwrap().cpus[0];
        pin_current(&[first]).unwrap();
        let granted = granted().unwrap();
        assert_eq!(granted.cpus, [first]);
        assert_eq!(granted.policy, Policy::Other);
        assert!(granted.tid > 0);
    });
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    in_a_thread(|| {
        assert!(matches!(pin_current(&[8000]), Err(Error::Setup(SetupError::Affinity { cpu: 8000, .. }))));
        assert!(matches!(pin_current(&[99_999]), Err(Error::Setup(SetupError::Affinity { cpu: 99_999, .. }))));
        let before = granted().unwrap();
        let refused = Setup::new().cpus(&[before.cpus[0], 8000]).apply().unwrap_err();
        let half = SetupError::Affinity { cpu: 8000, errno: libc::EINVAL };
        assert_eq!(refused, half.into(), "half of it is not all of it");
        assert_eq!(granted().unwrap(), before);
    });
}

#[test]
fn a_priority_out_of_range_never_reaches_the_kernel() {
    assert_eq!(set_policy(Policy::Fifo(99)), Err(Error::Config(ConfigError::Priority(99))));
}

#[test]
fn what_no_system_would_take_is_an_error_at_any_effort() {
    for require in [Require::Strict, Require::BestEffort] {
        let with = |policy| Setup::new().policy(policy).require(require).apply().unwrap_err();
        assert_eq!(with(Policy::Fifo(0)), Error::Config(ConfigError::Priority(0)));
        assert_eq!(with(Policy::RoundRobin(100)), Error::Config(ConfigError::Priority(100)));
        let zero = Policy::Deadline { runtime: Nanos::ZERO, deadline: Nanos::ZERO, period: Nanos::ZERO };
        assert_eq!(with(zero), Error::Config(ConfigError::Reservation));
    }
}

#[test]
fn strict_refuses_and_leaves_the_thread_as_it_was() {
    in_a_thread(|| {
        let before = grants();
        let first = before.thread.cpus.as_ref().unwrap()[0];
        let setup = Setup::new().cpus(&[first]).memory(Memory::Lock { stack_bytes: 64 << 20, heap_bytes: 0 });
        let refused = setup.apply().unwrap_err();
        assert!(matches!(refused, Error::Setup(SetupError::Stack { .. } | SetupError::MemoryLock(_))), "{refused:?}");
        let after = grants();
        assert_eq!((after.thread, after.open_signals), (before.thread, before.open_signals));
        assert_eq!(after.timer_slack, before.timer_slack);
    });
}

#[test]
fn best_effort_goes_on_and_says_what_to_do() {
    in_a_thread(|| {
        let first = granted().unwrap().cpus[0];
        let setup = Setup::new().cpus(&[first, 8000]).memory(Memory::Lock { stack_bytes: 64 << 20, heap_bytes: 0 });
        let prepared = setup.require(Require::BestEffort).apply().unwrap();
        let what: Vec<SetupStep> = prepared.refusals().iter().map(|refusal| refusal.what).collect();
        assert!(what.starts_with(&[SetupStep::Cpus]) && what.ends_with(&[SetupStep::Stack]), "{what:?}");
        assert_eq!(granted().unwrap().cpus, [first], "what could be had was taken");
        let text = prepared.refusals()[0].to_string();
        assert!(text.contains("CPU 8000") && text.contains("/sys/devices/system/cpu/online"), "{text}");
        assert!(grants().open_signals.is_empty());
    });
}

#[test]
fn an_ordinary_thread_stays_as_it_is() {
    in_a_thread(|| {
        let before = grants();
        let prepared = Setup::new().apply().unwrap();
        let during = grants();
        assert_eq!(prepared.refusals(), []);
        assert_eq!((during.thread, during.cpu_latency), (before.thread, before.cpu_latency));
    });
}

#[test]
fn the_handlers_of_a_threads_own_faults_stay_reachable() {
    let blocked = std::thread::spawn(|| {
        quiet_current();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap()
    })
    .join()
    .unwrap();
    let is_blocked = |signal: libc::c_int| blocked >> (signal - 1) & 1 == 1;
    assert!([libc::SIGTERM, libc::SIGINT, libc::SIGALRM, libc::SIGUSR1].into_iter().all(is_blocked));
    assert!(![libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT].into_iter().any(is_blocked));
}
