//! Tests the set-up as root and as the user `nobody`: what is granted, what is refused, and what is left behind. They
//! need root, so they are ignored by default: `cargo test -p punctual-rt --test privileged -- --ignored privileged`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_rt::setup::{Setup, SetupStep, granted, grants};
use punctual_rt::{
    Class, Error, Grid, LatencyQos, Memory, Nanos, Pacer, Policy, Require, SetupError, Sleeper, Wait, now,
};
use std::process::Command;
use std::sync::{Arc, Barrier, OnceLock};

/// Environment variable that marks a process which a test has started from this program, mostly as another user.
const AGAIN: &str = "PUNCTUAL_RT_TEST_AGAIN";

fn wanted() -> Setup {
    let cpu = granted().unwrap().cpus[0];
    let memory = Memory::Lock { stack_bytes: 64 << 10, heap_bytes: if cfg!(target_env = "gnu") { 1 << 20 } else { 0 } };
    Setup::new().policy(Policy::Fifo(10)).cpus(&[cpu]).memory(memory).latency_qos(LatencyQos::Global(Nanos::ZERO))
}

fn in_a_thread(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

/// Runs the test of this name again under `wrapper`. Returns `true` in the program that was started this way.
fn is_again(name: &str, wrapper: &str) -> bool {
    if std::env::var_os(AGAIN).is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg(program).args(["--exact", name, "--ignored", "--nocapture"]).env(AGAIN, "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    false
}

const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all";

#[test]
#[ignore = "needs root"]
fn privileged_all_that_is_asked_for_is_granted_and_read_back() {
    if !is_again("privileged_all_that_is_asked_for_is_granted_and_read_back", "env") {
        return;
    }
    in_a_thread(|| {
        let cpu = granted().unwrap().cpus[0];
        let prepared = wanted().apply().unwrap();
        let grants = grants();
        assert_eq!((grants.thread.policy, grants.thread.cpus.as_ref()), (Some(Policy::Fifo(10)), Some(&vec![cpu])));
        assert_eq!((grants.latency_us, grants.memory.new_is_resident), (Some(0), Some(true)), "{grants}");
        assert!(grants.memory.locked_bytes.unwrap() > 0 && grants.open_signals.is_empty(), "{grants}");
        drop(prepared);
    });
    assert_ne!(grants().latency_us, Some(0), "the request goes with what held it");
}

#[test]
#[ignore = "needs root"]
fn privileged_a_refusal_in_the_last_step_leaves_nothing_behind() {
    if !is_again("privileged_a_refusal_in_the_last_step_leaves_nothing_behind", "env") {
        return;
    }
    in_a_thread(|| {
        let before = grants();
        // Not a test of its own, because two processes that change these files at once would not know of each other.
        let prepared = Setup::new().latency_qos(LatencyQos::PerCpu).apply().unwrap();
        assert!(grants().cpu_latency.iter().all(|(_, limit)| limit == "n/a"));
        drop(prepared);
        assert_eq!(grants().cpu_latency, before.cpu_latency);
        // Read again, because the first setup has changed the timer slack and the signal mask.
        let before = grants();
        // No kernel accepts a reservation with a period of an hour, so the last step is refused.
        let (runtime, period) = (Nanos::from_ms(1), Nanos::from_secs(3600));
        let policy = Policy::Deadline { runtime, deadline: period, period };
        let refused = wanted().cpus(&[]).policy(policy).latency_qos(LatencyQos::PerCpu).apply();
        assert_eq!(refused.unwrap_err(), Error::Setup(SetupError::Deadline(libc::EINVAL)));
        let after = grants();
        assert_eq!((&after.thread, after.memory.locked_bytes), (&before.thread, Some(0)), "{after}");
        assert_eq!((after.memory.new_is_resident, after.timer_slack), (Some(false), before.timer_slack), "{after}");
        assert_eq!((&after.open_signals, &after.cpu_latency), (&before.open_signals, &before.cpu_latency), "{after}");
    });
}

#[test]
#[ignore = "needs root"]
fn privileged_taking_turns_is_granted_as_it_was_asked_for() {
    in_a_thread(|| {
        for policy in [Policy::RoundRobin(11), Policy::Fifo(12), Policy::RoundRobin(1)] {
            let _prepared = Setup::new().policy(policy).apply().unwrap();
            assert_eq!(granted().unwrap().policy, policy);
        }
    });
    assert_eq!(granted().unwrap().policy, Policy::Other);
}

#[test]
#[ignore = "needs root"]
fn privileged_a_deadline_is_reserved_as_it_was_asked_for() {
    in_a_thread(|| {
        let us = Nanos::from_us;
        let policy = Policy::Deadline { runtime: us(50), deadline: us(500), period: us(1000) };
        let _prepared = Setup::new().policy(policy).apply().unwrap();
        assert_eq!(granted().unwrap().policy, policy);
    });
}

#[test]
#[ignore = "needs root"]
fn privileged_nobody_is_refused_with_a_reason_and_keeps_what_was() {
    if !is_again("privileged_nobody_is_refused_with_a_reason_and_keeps_what_was", NOBODY) {
        return;
    }
    in_a_thread(|| {
        let before = grants();
        let error = wanted().apply().unwrap_err();
        assert_eq!(error, Error::Setup(SetupError::MemoryLock(libc::ENOMEM)));
        assert!(error.remedy().contains("RLIMIT_MEMLOCK"), "{}", error.remedy());
        let refused = wanted().memory(Memory::Leave).apply().unwrap_err();
        assert_eq!(refused, Error::Setup(SetupError::LatencyQos(libc::EACCES)));
        let refused = wanted().memory(Memory::Leave).latency_qos(LatencyQos::Leave).apply().unwrap_err();
        assert_eq!(refused, Error::Setup(SetupError::Policy(libc::EPERM)));
        let after = grants();
        assert_eq!((after.thread, after.open_signals), (before.thread, before.open_signals));
        assert_eq!((after.timer_slack, after.memory.locked_bytes), (before.timer_slack, Some(0)));
    });
}

#[test]
#[ignore = "needs root"]
fn privileged_nobody_at_best_effort_starts_and_has_every_refusal_listed() {
    if !is_again("privileged_nobody_at_best_effort_starts_and_has_every_refusal_listed", NOBODY) {
        return;
    }
    in_a_thread(|| {
        let prepared = wanted().require(Require::BestEffort).apply().unwrap();
        let refused: Vec<SetupStep> = prepared.refusals().iter().map(|refusal| refusal.what).collect();
        assert_eq!(refused, [SetupStep::MemoryLock, SetupStep::LatencyQos, SetupStep::Policy]);
        let grants = grants();
        assert_eq!((grants.thread.policy, grants.thread.cpus.as_ref().map(Vec::len)), (Some(Policy::Other), Some(1)));
        assert_eq!((grants.timer_slack, grants.latency_us), (Some(Nanos::from_ns(1)), None), "{grants}");
    });
}

/// With two capabilities, the user `nobody` gets what root gets.
#[test]
#[ignore = "needs root"]
fn privileged_nobody_with_two_capabilities_gets_policy_and_memory() {
    const CAPABLE: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+sys_nice,+ipc_lock \
        --ambient-caps=-all,+sys_nice,+ipc_lock";
    if !is_again("privileged_nobody_with_two_capabilities_gets_policy_and_memory", CAPABLE) {
        return;
    }
    in_a_thread(|| {
        let prepared = wanted().latency_qos(LatencyQos::Leave).apply().unwrap();
        assert_eq!(prepared.refusals(), []);
        let grants = grants();
        assert_eq!((grants.thread.policy, grants.memory.new_is_resident), (Some(Policy::Fifo(10)), Some(true)));
        let refused = wanted().apply().unwrap_err();
        assert_eq!(refused, Error::Setup(SetupError::LatencyQos(libc::EACCES)), "the file is root's all the same");
    });
}

/// On one CPU, a rival of higher priority runs across each release, for 200 ms in total.
#[test]
#[ignore = "needs root"]
fn privileged_a_rival_that_runs_instead_is_named() {
    const RELEASES: u64 = 200;
    let (period, cpu) = (Nanos::from_ms(1), granted().unwrap().cpus[0]);
    // A thread that is not set up yet gets no time on the CPU of a set-up thread that spins. So both start together.
    let (both, first) = (Arc::new(Barrier::new(2)), Arc::new(OnceLock::new()));
    let pacer = move |priority, ahead, wait: &Wait| {
        // The set-up is forgotten, so that it lasts as long as the thread, which ends soon.
        std::mem::forget(Setup::new().policy(Policy::Fifo(priority)).cpus(&[cpu]).apply().unwrap());
        both.wait();
        let first = *first.get_or_init(|| now() + Nanos::from_ms(20));
        let pacer = Pacer::new(Grid::new(first - ahead, period), wait, Sleeper::Absolute).unwrap();
        (pacer, first + period * RELEASES)
    };
    let of_rival = pacer.clone();
    let rival = std::thread::spawn(move || {
        let (mut rival, end_of_all) = of_rival(20, Nanos::from_us(100), &Wait::Sleep);
        while rival.wait().release < end_of_all {
            let end = now() + Nanos::from_us(300);
            while now() < end {}
        }
    });
    let watched = std::thread::spawn(move || {
        let (watched, end_of_all) = pacer(10, Nanos::ZERO, &Wait::Spin);
        let mut watched = watched.confirming_interference();
        let has_marks = watched.means().has_marks;
        let classes: Vec<Class> = std::iter::repeat_with(|| watched.wait())
            .take_while(|wake| wake.release < end_of_all)
            .map(|wake| wake.class)
            .collect();
        (has_marks, classes)
    });
    let (has_marks, classes) = watched.join().unwrap();
    rival.join().unwrap();
    let count = |wanted| classes.iter().filter(|class| **class == wanted).count();
    // Without a mark, the counted switches may have happened before the polling.
    let named = if has_marks { Class::Preempted } else { Class::HitWhilePolling };
    assert!(count(named) > 20 && count(named) > 4 * count(Class::Interrupted), "{classes:?}");
}
