//! Tests under a filter that forbids reading the scheduling attributes, as sandboxes have. A best-effort setup starts
//! and lists the refusal; a strict one is refused.

#![allow(clippy::unwrap_used, reason = "what a test cannot set up is a failed test, wherever it is written")]

use punctual_rt::setup::{SetupStep, grants};
use punctual_rt::{Control, Error, Nanos, Phase, Require, SetupError, Task, TaskConfig};

#[allow(unsafe_code, reason = "a filter for system calls")]
mod sys {
    /// From now on the kernel answers `sched_getattr` and `sched_getaffinity` with `errno`, for the calling thread and
    /// for the threads that it starts.
    pub fn take_away_the_reading_calls(errno: i32) {
        let load_number = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let jump_if_equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let answer = libc::BPF_RET | libc::BPF_K;
        let step = |code: u32, jt, k| libc::sock_filter { code: code.try_into().unwrap(), jt, jf: 0, k };
        let number = |call: libc::c_long| u32::try_from(call).unwrap();
        let mut program = [
            step(load_number, 0, 0),
            step(jump_if_equal, 2, number(libc::SYS_sched_getattr)),
            step(jump_if_equal, 1, number(libc::SYS_sched_getaffinity)),
            step(answer, 0, libc::SECCOMP_RET_ALLOW),
            step(answer, 0, libc::SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap()),
        ];
        let program = libc::sock_fprog { len: 5, filter: program.as_mut_ptr() };
        // SAFETY: no pointers are passed.
        let bound = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        assert_eq!(bound, 0);
        // SAFETY: the program is valid for the call, which copies it.
        let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

/// Runs in a thread of its own, so that the filter ends with it.
fn under_a_filter(errno: i32, run: impl FnOnce() + Send + 'static) {
    let filtered = move || {
        sys::take_away_the_reading_calls(errno);
        run();
    };
    std::thread::spawn(filtered).join().unwrap();
}

fn config(require: Require) -> TaskConfig {
    TaskConfig::periodic(Nanos::from_ms(1)).phase(Phase::Offset(Nanos::ZERO)).require(require)
}

#[test]
fn best_effort_starts_and_lists_what_could_not_be_read() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        under_a_filter(errno, move || {
            let task = Task::spawn(&config(Require::BestEffort), |_| Control::Stop).unwrap();
            let refused: Vec<_> = task.refusals().iter().map(|refusal| (refusal.what, refusal.error)).collect();
            assert_eq!(refused, [(SetupStep::ReadBack, Error::Setup(SetupError::ReadBack(errno)))]);
            let thread = &task.grants().thread;
            assert_eq!((thread.policy, thread.cpus.as_ref()), (None, None));
            assert!(
                task.grants().to_string().contains("a policy that could not be read, on CPUs that could not be read")
            );
            let stats = task.stats().clone();
            task.join();
            assert_eq!(stats.snapshot().counters.activations, 1);
            assert_eq!(grants().thread.policy, None);
        });
    }
}

#[test]
fn who_insists_is_refused() {
    under_a_filter(libc::EPERM, || {
        let refused = Task::spawn(&config(Require::Strict), |_| Control::Stop).map(drop);
        assert_eq!(refused, Err(Error::Setup(SetupError::ReadBack(libc::EPERM))));
    });
}
